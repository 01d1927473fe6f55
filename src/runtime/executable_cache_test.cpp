#include "runtime/executable_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/hash.h"
#include "testing/environment_change.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

class ExecutableCacheTest : public ::testing::Test {
 protected:
  void overwrite(const fs::path& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  const TempDir temp_;
  const fs::path dir_ = temp_.path() / "cache";
};

TEST_F(ExecutableCacheTest, ReturnsWhatWasWritten) {
  const ExecutableCache cache(dir_);
  EXPECT_EQ(cache.read("k"), std::nullopt);
  const std::string bytes("\0\1binary\n", 9);
  cache.write("k", bytes);
  EXPECT_EQ(cache.read("k"), bytes);
  cache.write("k", "other");
  EXPECT_EQ(cache.read("k"), "other");
  cache.remove("k");
  EXPECT_EQ(cache.read("k"), std::nullopt);
  EXPECT_TRUE(fs::is_empty(dir_));  // no temporary file stays behind
}

TEST_F(ExecutableCacheTest, DamagedEntriesCountAsMissing) {
  const ExecutableCache cache(dir_);
  cache.write("k", "an executable");
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
  cache.write("k", "anew");
  EXPECT_EQ(cache.read("k"), "anew");
}

// Opening a FIFO would wait for its writer, and reading /dev/zero would never end.
TEST_F(ExecutableCacheTest, SpecialFilesCountAsMissing) {
  const ExecutableCache cache(dir_);
  cache.write("k", "an executable");
  const auto plugin = dir_ / "plugin.so";
  overwrite(plugin, "a plugin");
  plugin_hash(plugin, dir_ / "notes");
  const fs::path entry = cache.path("k"), note = fs::directory_iterator(dir_ / "notes")->path();
  const std::pair<const char*, std::function<void(const fs::path&)>> kKinds[] = {
      {"a FIFO", [](const fs::path& at) { ASSERT_EQ(::mkfifo(at.c_str(), 0600), 0); }},
      {"a link to a FIFO",
       [&](const fs::path& at) {
         ASSERT_EQ(::mkfifo((dir_ / "fifo").c_str(), 0600), 0);
         fs::create_symlink(dir_ / "fifo", at);
       }},
      {"a link to /dev/zero", [](const fs::path& at) { fs::create_symlink("/dev/zero", at); }},
      {"a link to itself", [](const fs::path& at) { fs::create_symlink(at.filename(), at); }},
      {"a long file", [](const fs::path& at) {
         std::ofstream(at) << "x";
         fs::resize_file(at, uintmax_t{1} << 40);
       }}};
  for (const auto& [kind, make] : kKinds) {
    for (const fs::path& path : {entry, note}) {
      fs::remove(path);
      fs::remove(dir_ / "fifo");
      make(path);
      EXPECT_EQ(cache.read("k"), std::nullopt) << kind;
      EXPECT_EQ(plugin_hash(plugin, dir_ / "notes"), sha256_hex("a plugin")) << kind;
    }
    cache.write("k", "anew");
    EXPECT_EQ(cache.read("k"), "anew") << kind;
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(note))) << kind;
  }
  fs::remove(entry);
  fs::create_directory(entry);
  EXPECT_EQ(cache.read("k"), std::nullopt) << "a folder";
}

TEST_F(ExecutableCacheTest, WriteErrorsNameThePath) {
  const auto error = [](const ExecutableCache& cache) {
    EXPECT_EQ(cache.read("k"), std::nullopt);
    return error_of<StorageError>([&] { cache.write("k", "x"); });
  };
  overwrite(dir_, "a file, not a folder");
  EXPECT_EQ(error(ExecutableCache(dir_)),
            dir_.string() + ": cannot create the folder: Not a directory");
  EXPECT_NE(error(ExecutableCache(dir_ / "below")), "no error");
  EXPECT_NE(error(ExecutableCache("/proc")), "no error") << "takes no files";
  fs::remove(dir_);
  const ExecutableCache cache(dir_);
  fs::create_directories(cache.path("k") / "full");  // a folder where an entry belongs
  EXPECT_EQ(error(cache), cache.path("k").string() + ": cannot write: Is a directory");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), {}), 1) << "no temporary stays";
}

TEST_F(ExecutableCacheTest, FolderIsPrivate) {
  ExecutableCache(dir_).write("k", "x");
  EXPECT_EQ(fs::status(dir_).permissions(), fs::perms::owner_all);
}

TEST_F(ExecutableCacheTest, LeastRecentlyUsedIsRemovedFirst) {
  const std::string kilobyte(1000, 'x');
  const ExecutableCache cache(dir_, {.bytes = 3500});
  const auto age = [&](const std::string& key, std::chrono::seconds by) {
    fs::last_write_time(cache.path(key), fs::file_time_type::clock::now() - by);
  };
  for (const char* key : {"a", "b", "c"}) cache.write(key, kilobyte);
  age("a", std::chrono::seconds(30));
  age("b", std::chrono::seconds(20));
  age("c", std::chrono::seconds(10));
  EXPECT_EQ(cache.read("a"), kilobyte);  // marks the entry as used now
  cache.write("d", kilobyte);
  EXPECT_EQ(cache.read("b"), std::nullopt);
  for (const char* key : {"a", "c", "d"}) EXPECT_EQ(cache.read(key), kilobyte) << key;
  cache.write("e", std::string(4000, 'x'));  // larger than the whole cache
  EXPECT_EQ(cache.read("e"), std::nullopt);
  for (const char* key : {"a", "c", "d"}) EXPECT_EQ(cache.read(key), kilobyte) << key;
}

TEST_F(ExecutableCacheTest, UnusedEntriesAreRemoved) {
  const ExecutableCache cache(dir_, {.unused_for = std::chrono::hours(24)});
  cache.write("old", "x");
  cache.write("newer", "x");
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(cache.path("old"), now - std::chrono::hours(25));
  fs::last_write_time(cache.path("newer"), now - std::chrono::hours(23));
  const auto stale = cache.path("killed").string() + ".Xy12Zz";
  overwrite(stale, "part");
  fs::last_write_time(stale, now - std::chrono::hours(2));
  overwrite(cache.path("under_way").string() + ".Xy12Zz", "part");
  overwrite(dir_ / "notes.txt", "of somebody else");
  fs::last_write_time(dir_ / "notes.txt", now - std::chrono::hours(999));
  cache.write("k", "x");
  EXPECT_FALSE(fs::exists(cache.path("old")));
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_TRUE(fs::exists(cache.path("newer")));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), {}), 4);
}

TEST_F(ExecutableCacheTest, UnusedNotesOfPluginsAreRemoved) {
  const ExecutableCache cache(dir_, {.unused_for = std::chrono::hours(24)});
  const auto now = fs::file_time_type::clock::now();
  const auto note_of = [&](const std::string& plugin) {
    std::set<fs::path> before(fs::directory_iterator(dir_), {});
    overwrite(dir_ / plugin, plugin);
    before.insert(dir_ / plugin);
    plugin_hash(dir_ / plugin, dir_);
    for (const auto& entry : fs::directory_iterator(dir_)) {
      if (!before.contains(entry.path())) return entry.path();
    }
    ADD_FAILURE() << "no note of " << plugin;
    return fs::path();
  };
  cache.write("k", "x");
  const fs::path old = note_of("old.so"), newer = note_of("newer.so"), used = note_of("used.so");
  const auto part = [](const fs::path& of) { return of.string() + ".Xy12Zz"; };
  overwrite(part(old), "part");
  overwrite(part(newer), "part");
  const fs::path others[] = {dir_ / "mine.sha256", dir_ / "mine.sha256.backup"};
  for (const fs::path& other : others) overwrite(other, "of somebody else");
  fs::last_write_time(part(old), now - std::chrono::hours(2));
  for (const fs::path& path : {old, used, others[0], others[1]})
    fs::last_write_time(path, now - std::chrono::hours(25));
  fs::last_write_time(newer, now - std::chrono::hours(23));
  EXPECT_EQ(plugin_hash(dir_ / "used.so", dir_), sha256_hex("used.so"));
  cache.write("k", "x");
  for (const fs::path& gone : {old, fs::path(part(old))}) EXPECT_FALSE(fs::exists(gone)) << gone;
  for (const fs::path& stays : {newer, fs::path(part(newer)), used, others[0], others[1]})
    EXPECT_TRUE(fs::exists(stays)) << stays;
}

TEST_F(ExecutableCacheTest, ConcurrentUsersAreSafe) {
  std::vector<std::thread> users;
  std::atomic<int> wrong = 0;
  for (int user = 0; user < 4; ++user) {
    users.emplace_back([&, user] {
      const ExecutableCache cache(dir_, {.bytes = 2000});
      for (int i = 0; i < 50; ++i) {
        const std::string key = std::to_string((user + i) % 5), bytes(400, key[0]);
        cache.write(key, bytes);
        if (const auto read = cache.read(key); read && *read != bytes) ++wrong;
      }
    });
  }
  for (std::thread& user : users) user.join();
  EXPECT_EQ(wrong, 0);
}

TEST(DefaultCompileCache, FolderIsInTheUsersCacheUnlessNamed) {
  EnvironmentChange named("AXLE_COMPILE_CACHE", std::nullopt), xdg("XDG_CACHE_HOME", "/x"),
      home("HOME", "/h");
  EXPECT_EQ(default_compile_cache(), "/x/axle/programs");
  xdg.set("relative");
  EXPECT_EQ(default_compile_cache(), "/h/.cache/axle/programs");
  home.set(std::nullopt);
  EXPECT_EQ(default_compile_cache(), "");
  named.set("mine");
  EXPECT_EQ(default_compile_cache(), "mine");
  named.set("none");
  EXPECT_EQ(default_compile_cache(), "");
  named.set("s3://b/cache");
  EXPECT_EQ(error_of([] { default_compile_cache(); }),
            "AXLE_COMPILE_CACHE: expected a path of this machine, got 's3://b/cache'; s3:// is not "
            "supported, mount it or copy it here");
}

TEST(CacheLimits, AreReadFromTheEnvironment) {
  EnvironmentChange limit("AXLE_COMPILE_CACHE_MB", std::nullopt);
  EXPECT_EQ(cache_limits().bytes, int64_t{2} << 30);
  limit.set("5");
  EXPECT_EQ(cache_limits().bytes, 5 << 20);
  for (const char* wrong :
       {"x", "5x", "-1", "1e3", "99999999999999999999", "9223372036854775807"}) {
    limit.set(wrong);
    EXPECT_NE(error_of<ConfigError>([] { cache_limits(); }), "no error") << wrong;
  }
}

TEST_F(ExecutableCacheTest, PluginHashIsRememberedUntilTheFileChanges) {
  fs::create_directories(dir_);
  const auto plugin = dir_ / "plugin.so";
  overwrite(plugin, "version 1");
  EXPECT_EQ(plugin_hash(plugin, dir_ / "cache"), sha256_hex("version 1"));
  const auto note = fs::directory_iterator(dir_ / "cache")->path();
  EXPECT_EQ(plugin_hash(plugin, dir_ / "cache"), sha256_hex("version 1"));
  // A stored hash is used without reading the file again.
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

TEST_F(ExecutableCacheTest, MissingPluginIsNamed) {
  const auto plugin = dir_ / "gone.so";
  EXPECT_EQ(error_of<StorageError>([&] { plugin_hash(plugin, dir_ / "cache"); }),
            plugin.string() + ": cannot look at the plugin: No such file or directory");
}

// Plugins read flags from the environment, so another flag may yield another executable.
TEST_F(ExecutableCacheTest, KeysHoldTheFlagsOfTheEnvironment) {
  const auto plugin = dir_ / "plugin.so";
  fs::create_directories(dir_);
  overwrite(plugin, "version 1");
  const ExecutableCache cache(dir_ / "cache");
  const auto key = [&] { return cache.key(plugin, {}, "text", "options"); };
  for (const char* name : {"XLA_FLAGS", "LIBTPU_INIT_ARGS"}) {
    EnvironmentChange variable(name, std::nullopt);
    const std::string without = key();
    EXPECT_EQ(key(), without);
    variable.set("--a=1");
    const std::string with = key();
    EXPECT_NE(with, without) << name;
    variable.set("--a=2");
    EXPECT_NE(key(), with) << name;
  }
  const EnvironmentChange xla("XLA_FLAGS", "--a=1");
  EnvironmentChange tpu("LIBTPU_INIT_ARGS", std::nullopt);
  const std::string of_xla = key();
  const EnvironmentChange no_xla("XLA_FLAGS", std::nullopt);
  tpu.set("--a=1");
  EXPECT_NE(key(), of_xla) << "one is not the other";
}

TEST(HostInstructionSets, AreKnownOnLinux) { EXPECT_NE(host_instruction_sets(), "unknown"); }

}  // namespace
}  // namespace axle
