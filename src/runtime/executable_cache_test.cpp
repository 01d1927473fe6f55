#include "runtime/executable_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/hash.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

class ExecutableCacheTest : public testing::Test {
 protected:
  ExecutableCacheTest() : dir_(testing::TempDir() + "axle_cache_" + std::to_string(::getpid())) {
    fs::remove_all(dir_);
  }
  ~ExecutableCacheTest() override { fs::remove_all(dir_); }
  void overwrite(const fs::path& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  fs::path dir_;
};

TEST_F(ExecutableCacheTest, GivesBackWhatWasWritten) {
  const ExecutableCache cache(dir_);
  EXPECT_EQ(cache.read("k"), std::nullopt);
  const std::string bytes("\0\1binary\n", 9);
  EXPECT_TRUE(cache.write("k", bytes));
  EXPECT_EQ(cache.read("k"), bytes);
  EXPECT_TRUE(cache.write("k", "other"));
  EXPECT_EQ(cache.read("k"), "other");
  cache.remove("k");
  EXPECT_EQ(cache.read("k"), std::nullopt);
  EXPECT_TRUE(fs::is_empty(dir_));  // no temporary file stays behind
}

TEST_F(ExecutableCacheTest, DamagedEntriesCountAsMissing) {
  const ExecutableCache cache(dir_);
  ASSERT_TRUE(cache.write("k", "an executable"));
  std::string bytes;
  std::getline(std::ifstream(cache.path("k"), std::ios::binary), bytes, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    overwrite(cache.path("k"), flipped);
    EXPECT_EQ(cache.read("k"), std::nullopt) << "byte " << i;
  }
  for (size_t size : {size_t{0}, size_t{5}, bytes.size() - 1}) {
    overwrite(cache.path("k"), bytes.substr(0, size));
    EXPECT_EQ(cache.read("k"), std::nullopt) << size << " bytes";
  }
  ASSERT_TRUE(cache.write("k", "anew"));
  EXPECT_EQ(cache.read("k"), "anew");
}

TEST_F(ExecutableCacheTest, AnUnusableFolderOnlyCostsTime) {
  overwrite(dir_, "a file, not a folder");
  const ExecutableCache cache(dir_);
  EXPECT_FALSE(cache.write("k", "x"));
  EXPECT_EQ(cache.read("k"), std::nullopt);
}

TEST_F(ExecutableCacheTest, PluginHashIsRememberedUntilTheFileChanges) {
  fs::create_directories(dir_);
  const auto plugin = dir_ / "plugin.so";
  overwrite(plugin, "version 1");
  EXPECT_EQ(plugin_hash(plugin, dir_ / "cache"), sha256_hex("version 1"));
  const auto note = fs::directory_iterator(dir_ / "cache")->path();
  EXPECT_EQ(plugin_hash(plugin, dir_ / "cache"), sha256_hex("version 1"));
  // A remembered hash is believed: that is what makes it fast.
  const auto changed = fs::last_write_time(plugin);
  overwrite(plugin, "version X");
  fs::last_write_time(plugin, changed);
  EXPECT_EQ(plugin_hash(plugin, dir_ / "cache"), sha256_hex("version 1"));
  fs::last_write_time(plugin, changed + std::chrono::seconds(1));
  EXPECT_EQ(plugin_hash(plugin, dir_ / "cache"), sha256_hex("version X"));
  overwrite(note, "damaged");
  fs::last_write_time(plugin, changed);
  EXPECT_EQ(plugin_hash(plugin, dir_ / "cache"), sha256_hex("version X"));
}

TEST(HostInstructionSets, AreKnownOnLinux) { EXPECT_NE(host_instruction_sets(), "unknown"); }

}  // namespace
}  // namespace axle
