// A cache of compiled programs on disk, shared by all runs of a user. The key of an entry is a hash
// of everything that its bytes depend on. A damaged entry counts as missing. Several processes may
// use a cache folder at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/runtime.h"

namespace axle {

/// Returns the SHA-256 of a plugin's file. Because the files are large, the hash is stored in
/// `cache_dir` under the file's path, size and time of change; an empty `cache_dir` stores nothing.
/// A stored hash expires like an entry of the cache, after CacheLimits::unused_for.
std::string plugin_hash(const std::filesystem::path& plugin,
                        const std::filesystem::path& cache_dir);

/// Returns the instruction sets of this machine's processor as the kernel lists them. A CPU plugin
/// compiles for these.
std::string host_instruction_sets();

/// Returns the default cache folder: AXLE_COMPILE_CACHE if it is set, else `programs` in
/// user_cache_folder(). Empty: programs are not cached, as with AXLE_COMPILE_CACHE=none. Throws
/// ConfigError if the variable names no path of this machine.
std::filesystem::path default_compile_cache();
/// Returns the cache folder that a user names; "none" returns an empty path, which disables the
/// cache.
std::filesystem::path parse_compile_cache(std::string_view name);

/// The limits of a cache. Entries beyond them are removed, the least recently used first.
struct CacheLimits {
  int64_t bytes = int64_t{2} << 30;
  std::chrono::hours unused_for = std::chrono::days(60);
};
/// Returns the limits, with the size AXLE_COMPILE_CACHE_MB if that is set. Throws ConfigError if
/// its value is not a whole number.
CacheLimits cache_limits();

class ExecutableCache {
 public:
  /// The first write creates `dir`, accessible only to its user, if it does not exist.
  explicit ExecutableCache(std::filesystem::path dir, CacheLimits limits = cache_limits())
      : dir_(std::move(dir)), limits_(limits) {}

  /// Returns the key of an entry.
  ///   plugin   file of the plugin that compiles
  ///   text     StableHLO; its locations do not change the key
  ///   options  the encoded compile options
  /// The key also depends on XLA_FLAGS and LIBTPU_INIT_ARGS, and on CPU on the instruction sets.
  std::string key(const std::filesystem::path& plugin, const Topology& topology,
                  const std::string& text, std::string_view options) const;
  /// Returns an entry and marks it as used now. None if the entry is missing or damaged.
  std::optional<std::string> read(const std::string& key) const;
  /// Writes an entry, either as a whole or not at all, then removes entries beyond the limits. An
  /// executable larger than the whole cache is not kept. Throws StorageError.
  void write(const std::string& key, std::string_view executable) const;
  /// Removes an entry, such as one that the plugin refused.
  void remove(const std::string& key) const;
  std::filesystem::path path(const std::string& key) const { return dir_ / (key + ".axlexe"); }

 private:
  void remove_old() const;
  std::filesystem::path dir_;
  CacheLimits limits_;
};

}  // namespace axle
