// Compiled programs kept on disk between runs, of all programs of a user in one place. An entry is
// found by a hash of everything that its bytes depend on; a damaged one is as good as none. Several
// processes may use a folder at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/runtime.h"

namespace axle {

/// SHA-256 of a plugin's file. `cache_dir` remembers it by path, size and time of change, because
/// the files are large; empty: nothing is remembered. What was not asked for is forgotten with the
/// entries that were not used for as long.
std::string plugin_hash(const std::filesystem::path& plugin,
                        const std::filesystem::path& cache_dir);

/// The instruction sets of this machine's processor, as the kernel lists them: what a CPU plugin
/// compiles for.
std::string host_instruction_sets();

/// Where compiled programs are kept unless the user says otherwise: in AXLE_COMPILE_CACHE, else
/// `programs` in user_cache_folder(). Empty: nowhere, as AXLE_COMPILE_CACHE=none says.
std::filesystem::path default_compile_cache();
/// What a user means by a name of a cache's folder: "none" is none, an empty path.
std::filesystem::path compile_cache_named(std::string_view name);

/// What stays in a cache. Entries that were not used for longest go first.
struct CacheLimits {
  int64_t bytes = int64_t{2} << 30;
  std::chrono::hours unused_for = std::chrono::days(60);
};
/// With the bytes of AXLE_COMPILE_CACHE_MB, where it is set. Throws ConfigError if it is no number.
CacheLimits cache_limits();

class ExecutableCache {
 public:
  /// Creates `dir` if need be, at the first write, for its user alone.
  explicit ExecutableCache(std::filesystem::path dir, CacheLimits limits = cache_limits())
      : dir_(std::move(dir)), limits_(limits) {}

  /// `plugin`: the file of what compiles. `text`: StableHLO, whose locations do not count.
  /// `options`: the encoded compile options.
  std::string key(const std::filesystem::path& plugin, const Topology& topology,
                  const std::string& text, std::string_view options) const;
  /// None if there is no entry or it is damaged. An entry that is read counts as used now.
  std::optional<std::string> read(const std::string& key) const;
  /// Replaces an entry as a whole or not at all, then removes what is beyond the limits; what is
  /// larger than all of the cache is not kept. Throws StorageError.
  void write(const std::string& key, std::string_view executable) const;
  /// For an entry that the plugin refused.
  void remove(const std::string& key) const;
  std::filesystem::path path(const std::string& key) const { return dir_ / (key + ".axlexe"); }

 private:
  void remove_old() const;
  std::filesystem::path dir_;
  CacheLimits limits_;
};

}  // namespace axle
