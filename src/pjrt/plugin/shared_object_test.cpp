#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "io/file.h"
#include "pjrt/plugin/find_plugin.h"
#include "pjrt/plugin/plugin.h"
#include "pjrt/plugin_status.h"
#include "testing/environment_change.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

// Returns the file of this test program.
std::string some_elf() { return read_file("/proc/self/exe"); }

Elf64_Ehdr header_of(const std::string& bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header;
}

TEST(SharedObject, CompleteFileIsRecognised) {
  const auto size = shared_object_size("/proc/self/exe");
  ASSERT_TRUE(size);
  EXPECT_TRUE(size->is_complete());
  EXPECT_EQ(size->bytes, some_elf().size());
  EXPECT_GT(size->expected_bytes, 10000u);
}

TEST(SharedObject, EveryCutIsSeen) {
  const TempDir dir;
  const std::string whole = some_elf();
  const auto header = header_of(whole);
  ASSERT_GT(header.e_shnum, 0);
  const size_t end = header.e_shoff + size_t{header.e_shentsize} * header.e_shnum;
  ASSERT_EQ(shared_object_size("/proc/self/exe")->expected_bytes, end) << "they come last";
  const size_t table_end = header.e_phoff + size_t{header.e_phentsize} * header.e_phnum;
  for (const size_t cut : {size_t{EI_NIDENT}, sizeof(header) - 1, sizeof(header), table_end - 1,
                           table_end, whole.size() / 2, end - 1}) {
    replace_file(dir / "cut", std::string_view(whole).substr(0, cut));
    const auto size = shared_object_size(dir / "cut");
    ASSERT_TRUE(size) << cut;
    EXPECT_EQ(size->bytes, cut);
    EXPECT_FALSE(size->is_complete()) << cut;
    EXPECT_EQ(size->expected_bytes, cut < sizeof(header) ? sizeof(header) : end) << cut;
  }
}

TEST(SharedObject, AFileWithoutSectionsIsJudgedByItsSegments) {
  const TempDir dir;
  std::string bytes = some_elf();
  auto header = header_of(bytes);
  header.e_shoff = header.e_shnum = 0;
  std::memcpy(bytes.data(), &header, sizeof(header));
  replace_file(dir / "file", bytes);
  const size_t end = shared_object_size(dir / "file")->expected_bytes;
  EXPECT_GT(end, 10000u);
  EXPECT_LT(end, bytes.size());
  for (const size_t cut : {end - 1, end}) {
    replace_file(dir / "file", std::string_view(bytes).substr(0, cut));
    EXPECT_EQ(shared_object_size(dir / "file")->is_complete(), cut == end);
  }
}

TEST(SharedObject, OverflowingOffsetsAreIncomplete) {
  const TempDir dir;
  std::string bytes = some_elf();
  auto header = header_of(bytes);
  header.e_phoff = header.e_shoff = ~uint64_t{0} - 8;
  std::memcpy(bytes.data(), &header, sizeof(header));
  replace_file(dir / "file", bytes);
  EXPECT_FALSE(shared_object_size(dir / "file")->is_complete());
}

TEST(SharedObject, UnreadableFilesAreLeftToTheLoader) {
  const TempDir dir;
  for (const std::string text : {"",
                                 "\x7f"
                                 "ELF",
                                 "not an object, but a longer text"}) {
    replace_file(dir / "file", text);
    EXPECT_FALSE(shared_object_size(dir / "file"));
  }
  EXPECT_FALSE(shared_object_size(dir / "none"));
  EXPECT_FALSE(shared_object_size(dir.path()));
  replace_file(dir / "file", std::string(1000, 'x'));
  EXPECT_THAT(error_of<DeviceError>([&] { load_plugin("fake_d", dir / "file"); }),
              HasSubstr("can't be loaded: " + (dir / "file") + ": invalid ELF header"));
}

TEST(SharedObject, APluginThatWasCutOffIsNamedAndNotLoaded) {
  const TempDir dir;
  const std::string path = dir / "cut.so", whole = some_elf();
  replace_file(path, std::string_view(whole).substr(0, whole.size() / 2));
  const std::string message = "plugin 'fake_d' (" + path +
                              "): expected a whole shared object of at least " +
                              std::to_string(shared_object_size("/proc/self/exe")->expected_bytes) +
                              " bytes, got " + std::to_string(whole.size() / 2) +
                              "; remove it, then set AXLE_PLUGIN_FAKE_D to the plugin's file";
  EXPECT_EQ(error_of<DeviceError>([&] { load_plugin("fake_d", path); }), message);
  // `axle doctor` reports the broken plugin and still lists all others.
  const EnvironmentChange named("AXLE_PLUGIN_ROCM", path);
  bool seen = false;
  for (const PluginStatus& status : plugin_statuses()) {
    if (status.platform != "rocm") continue;
    seen = true;
    EXPECT_EQ(status.path, path);
    EXPECT_THAT(status.problem, HasSubstr("expected a whole shared object"));
    EXPECT_THAT(status.problem,
                HasSubstr("; fetch it again; AXLE_PLUGIN_ROCM must name a plugin for rocm"));
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace axle
