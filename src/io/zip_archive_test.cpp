#include "io/zip_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "io/file.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"
#include "testing/zip_writer.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ZipArchive : public ::testing::Test {
 protected:
  std::filesystem::path archive(const std::vector<TestZipEntry>& entries) {
    return archive_of(test_zip(entries));
  }
  std::filesystem::path archive_of(const std::string& bytes) {
    replace_file(dir_.path() / "a.zip", bytes);
    return dir_.path() / "a.zip";
  }
  /// Returns the error of unpacking, and checks that it left nothing behind.
  std::string data_error(const std::filesystem::path& path) {
    const std::string out = error_of<DataError>([&] { unpack_zip(path, to_); });
    EXPECT_EQ(list_directory(dir_.path()).size(), path_exists(path) ? 1u : 0u);
    return out;
  }

  const TempDir dir_;
  const std::filesystem::path to_ = dir_.path() / "out";
};

TEST_F(ZipArchive, FilesFoldersAndModes) {
  const std::string large(3 << 20, 'x');
  unpack_zip(archive({{"pkg/"},
                      {"pkg/a.txt", "hello"},
                      {"b/c/large", large},
                      {"empty"},
                      {"bin/tool", "#!", S_IFREG | 0744}}),
             to_);
  EXPECT_EQ(read_file(to_ / "pkg/a.txt"), "hello");
  EXPECT_EQ(read_file(to_ / "b/c/large"), large);
  EXPECT_EQ(file_bytes(to_ / "empty"), 0);
  using std::filesystem::perms;
  const auto is_executable = [&](const char* file) {
    return (std::filesystem::status(to_ / file).permissions() & perms::owner_exec) != perms::none;
  };
  EXPECT_TRUE(is_executable("bin/tool"));
  EXPECT_FALSE(is_executable("pkg/a.txt"));
  EXPECT_EQ(list_directory(dir_.path()).size(), 2u) << "the archive and what came of it";
}

TEST_F(ZipArchive, RefusesPathsThatLeaveTheFolder) {
  for (const std::string name : {"../evil", "a/../../evil", "/tmp/evil", "a\\..\\evil", "a/.."}) {
    EXPECT_THAT(data_error(archive({{"good", "x"}, {name, "y"}})),
                HasSubstr("entry '" + name + "': expected a path inside"));
  }
}

TEST_F(ZipArchive, RefusesLinks) {
  EXPECT_THAT(data_error(archive({{"link", "/etc/passwd", S_IFLNK | 0777}})),
              HasSubstr("entry 'link': expected a plain file"));
}

TEST_F(ZipArchive, DamagedArchivesAreRefused) {
  EXPECT_THAT(data_error(archive({{"good", "x"}, {"bad", "hello", S_IFREG | 0644, 1}})),
              HasSubstr("entry 'bad': can't be unpacked: CRC error"));
  const std::string whole = test_zip({{"good", std::string(1000, 'x')}});
  EXPECT_THAT(data_error(archive_of(whole.substr(0, whole.size() / 2))),
              HasSubstr("expected a zip archive, got: "));
  EXPECT_THAT(data_error(archive_of("<html>")), HasSubstr("expected a zip archive"));
}

TEST_F(ZipArchive, ExistingFilesAreKept) {
  make_directories(to_);
  replace_file(to_ / "mine", "x");
  EXPECT_THROW(unpack_zip(archive({{"theirs", "y"}}), to_), StorageError);
  EXPECT_EQ(list_directory(to_).size(), 1u);
  EXPECT_THROW(unpack_zip(dir_.path() / "absent.zip", dir_.path() / "new"), StorageError);
}

}  // namespace
}  // namespace axle
