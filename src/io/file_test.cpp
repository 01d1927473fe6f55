#include "io/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "io/mapped_file.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(File, ReplaceThenReadGivesTheSameBytes) {
  const TempDir dir;
  const std::string bytes("a\0b\n\xff", 5);
  replace_file(dir / "x", bytes);
  EXPECT_EQ(read_file(dir / "x"), bytes);
  EXPECT_EQ(file_bytes(dir / "x"), 5);
  replace_file(dir / "x", "");
  EXPECT_EQ(read_file(dir / "x"), "");
  EXPECT_THAT(list_directory(dir.path()), ElementsAre(dir.path() / "x"));  // no temporary is left
}

TEST(File, ReadsFilesWhoseSizeIsUnknown) {
  EXPECT_THAT(read_file("/proc/self/status"), HasSubstr("Name:"));
}

TEST(File, AppendGoesOnWhereTheFileEnds) {
  const TempDir dir;
  replace_file(dir / "log", "one\n");
  FileWriter writer(dir / "log", WriteMode::kAppend);
  EXPECT_EQ(writer.size(), 4);
  writer.write("two\n");
  EXPECT_EQ(writer.size(), 8);
  writer.close();
  EXPECT_EQ(read_file(dir / "log"), "one\ntwo\n");
  truncate_file(dir / "log", 4);
  EXPECT_EQ(read_file(dir / "log"), "one\n");
}

TEST(File, MovedWriterWritesOn) {
  const TempDir dir;
  FileWriter first(dir / "x");
  first.write("a");
  FileWriter second(std::move(first));
  second.write("b");
  second.close();
  EXPECT_EQ(read_file(dir / "x"), "ab");
}

TEST(File, ErrorsNamePathAndReason) {
  const TempDir dir;
  const auto throws = [](const auto& fn, const std::string& path, const char* reason) {
    EXPECT_THAT(
        fn, ThrowsMessage<StorageError>(AllOf(HasSubstr(path + ": cannot"), HasSubstr(reason))));
  };
  replace_file(dir / "file", "x");
  throws([&] { read_file(dir / "none"); }, dir / "none", "No such file");
  throws([&] { read_file(dir.path()); }, dir.path().string(), "directory");
  throws([&] { MappedFile map(dir / "none"); }, dir / "none", "No such file");
  throws([&] { MappedFile map(dir.path()); }, dir.path().string(), "map into memory");
  EXPECT_THAT([&] { replace_file(dir / "none/x", ""); },
              ThrowsMessage<StorageError>(HasSubstr("none/x.tmp")));
  throws([&] { make_directories(dir / "file/x"); }, dir / "file/x", "Not a directory");
  throws([&] { list_directory(dir / "file"); }, dir / "file", "Not a directory");
  throws([&] { file_bytes(dir / "none"); }, dir / "none", "No such file");
  throws([&] { truncate_file(dir / "none", 0); }, dir / "none", "No such file");
  throws([&] { rename_durably(dir / "none", dir / "y"); }, dir / "none", "No such file");
}

TEST(File, WhetherOneCanBeWrittenIsKnownBefore) {
  const TempDir dir;
  replace_file(dir / "old", "kept");
  check_replaceable(dir / "old");
  check_replaceable(dir / "new");
  EXPECT_EQ(read_file(dir / "old"), "kept");
  EXPECT_THAT(list_directory(dir.path()), ElementsAre(dir.path() / "old"));
  EXPECT_THROW(check_replaceable(dir.path()), StorageError);
  EXPECT_THROW(check_replaceable(dir / "missing/new"), StorageError);
}

TEST(File, FoldersAreMadeListedMovedAndRemoved) {
  const TempDir dir;
  make_directories(dir / "a/b/c");
  make_directories(dir / "a/b/c");  // there already: no error
  replace_file(dir / "a/b/z", "");
  replace_file(dir / "a/b/.hidden", "");
  EXPECT_THAT(list_directory(dir / "a/b"),
              ElementsAre(dir / "a/b/.hidden", dir / "a/b/c", dir / "a/b/z"));
  rename_durably(dir / "a/b", dir / "moved");
  EXPECT_TRUE(directory_exists(dir / "moved/c"));
  EXPECT_FALSE(path_exists(dir / "a/b"));
  remove_tree(dir / "moved");
  remove_tree(dir / "moved");  // gone already: no error
  EXPECT_THAT(list_directory(dir.path()), ElementsAre(dir / "a"));
}

TEST(MappedFile, HoldsTheBytesEvenOfAnEmptyFile) {
  const TempDir dir;
  replace_file(dir / "x", "hello");
  replace_file(dir / "empty", "");
  MappedFile map(dir / "x");
  EXPECT_EQ(map.text(), "hello");
  EXPECT_EQ(MappedFile(dir / "empty").text(), "");
  map = MappedFile(dir / "empty");
  EXPECT_EQ(map.bytes().size(), 0u);
}

}  // namespace
}  // namespace axle
