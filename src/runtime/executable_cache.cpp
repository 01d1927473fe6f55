#include "runtime/executable_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/folders.h"
#include "base/hash.h"
#include "base/process_start.h"
#include "io/file.h"
#include "io/file_reader.h"
#include "lower/stablehlo.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

// An entry consists of this line, the SHA-256 of the executable, a line end, and the executable.
constexpr std::string_view kMagic = "axle executable 1\n";
constexpr size_t kHeaderSize = kMagic.size() + 64 + 1;
constexpr std::string_view kExtension = ".axlexe";
constexpr std::string_view kNote = "plugin-", kNoteExtension = ".sha256";  // files of plugin_hash
constexpr const char* kTemporary = ".XXXXXX";   // suffix of a file that is being written
constexpr auto kStale = std::chrono::hours(1);  // an older temporary is of a killed process
constexpr const char* kVariable = "AXLE_COMPILE_CACHE";

// Returns the content of a file. None if the file is missing, unreadable, not a regular file or
// longer than `max_bytes`.
std::optional<std::string> read_if_there(const fs::path& path, int64_t max_bytes) {
  try {
    return read_file(path, max_bytes);
  } catch (const StorageError&) {
    return std::nullopt;
  }
}

// Sets a file's times to now. A failure does no harm: the file only looks older than it is.
void count_as_used(const fs::path& path) { ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); }

// True if the name is that of an entry, of a note of plugin_hash, or of a file that becomes one of
// them.
bool is_entry(const fs::path& name) { return name.extension() == kExtension; }
bool is_note(const fs::path& name) {
  return name.extension() == kNoteExtension && name.string().starts_with(kNote);
}
bool is_temporary(const fs::path& name) { return is_entry(name.stem()) || is_note(name.stem()); }

/// Writes a temporary beside the target, then renames it, so that readers see either the old file
/// or the new one. There is no fsync: the hash in an entry detects a file that a crash has torn.
void write_atomically(const fs::path& path, std::string_view bytes) {
  const fs::path folder = path.parent_path();
  std::error_code error;
  if (fs::create_directories(folder, error))
    fs::permissions(folder, fs::perms::owner_all, error);  // the cached code will be executed
  if (error) fail_storage(folder, "create the folder", error.value());
  std::string temporary = path.string() + kTemporary;
  const int file = ::mkstemp(temporary.data());
  if (file < 0) fail_storage(folder, "write into it", errno);
  int problem = 0;
  for (size_t done = 0; problem == 0 && done < bytes.size();) {
    const auto n = ::write(file, bytes.data() + done, bytes.size() - done);
    if (n > 0) done += static_cast<size_t>(n);
    if (n <= 0 && errno != EINTR) problem = errno;
  }
  if (::close(file) != 0 && problem == 0) problem = errno;
  if (problem == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) problem = errno;
  if (problem == 0) return;
  ::unlink(temporary.c_str());
  fail_storage(path, "write", problem);
}

}  // namespace

fs::path parse_compile_cache(std::string_view name) {
  return name == "none" ? fs::path() : fs::path(name);
}

fs::path default_compile_cache() {
  if (const std::string named = environment_variable(kVariable); !named.empty()) {
    if (const std::string problem = path_problem(named); !problem.empty())
      throw ConfigError(fmt::format("{}: {}", kVariable, problem));
    return parse_compile_cache(named);
  }
  const fs::path folder = user_cache_folder();
  return folder.empty() ? folder : folder / "programs";
}

CacheLimits cache_limits() {
  CacheLimits out;
  constexpr const char* kLimitVariable = "AXLE_COMPILE_CACHE_MB";
  const std::string text = environment_variable(kLimitVariable);
  if (text.empty()) return out;
  int64_t megabytes = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, megabytes);
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max() >> 20;
  if (error != std::errc() || at != end || megabytes < 0 || megabytes > kMax) {
    throw ConfigError(
        fmt::format("{}: expected a whole number of megabytes, got '{}'", kLimitVariable, text));
  }
  out.bytes = megabytes << 20;
  return out;
}

std::string plugin_hash(const fs::path& plugin, const fs::path& cache_dir) {
  if (cache_dir.empty()) return sha256_of_file(plugin);
  std::error_code error;
  const auto changed = fs::last_write_time(plugin, error).time_since_epoch().count();
  const auto size = error ? 0 : fs::file_size(plugin, error);
  if (error) fail_storage(plugin, "look at the plugin", error.value());
  const auto identity = fmt::format("{}\n{}\n{}\n", plugin.string(), size, changed);
  const auto note =
      cache_dir / fmt::format("{}{:016x}{}", kNote, xxh3_64(identity), kNoteExtension);
  const auto note_bytes = std::ssize(identity) + 64;
  if (const auto known = read_if_there(note, note_bytes);
      known && known->starts_with(identity) && std::ssize(*known) == note_bytes) {
    count_as_used(note);
    return known->substr(identity.size());
  }
  std::string hash = sha256_of_file(plugin);
  try {
    write_atomically(note, identity + hash);
  } catch (const StorageError&) {
    // Writing the entry will fail as well, and that error is reported.
  }
  return hash;
}

std::string host_instruction_sets() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("flags") || line.starts_with("Features")) return line;
  }
  return "unknown";
}

std::string ExecutableCache::key(const fs::path& plugin, const Topology& topology,
                                 const std::string& text, std::string_view options) const {
  std::string parts;
  // The length of each part makes the concatenation unambiguous.
  const auto add = [&](std::string_view name, std::string_view part) {
    fmt::format_to(std::back_inserter(parts), "{} {}\n{}\n", name, part.size(), part);
  };
  add("text", without_locations(text));
  add("options", options);
  add("plugin", plugin_hash(plugin, dir_));
  add("platform", topology.platform + " " + topology.platform_version);
  for (const auto& device : topology.devices)
    add("device", fmt::format("{} {}", device.id, device.kind));
  add("flags", environment_variable("XLA_FLAGS"));
  add("init_args", environment_variable("LIBTPU_INIT_ARGS"));
  if (topology.platform == "cpu") add("host", host_instruction_sets());
  return sha256_hex(parts);
}

std::optional<std::string> ExecutableCache::read(const std::string& key) const {
  auto bytes = read_if_there(path(key), limits_.bytes);
  if (!bytes || bytes->size() < kHeaderSize || !bytes->starts_with(kMagic)) return std::nullopt;
  std::string executable = bytes->substr(kHeaderSize);
  if (bytes->substr(kMagic.size(), 65) != sha256_hex(executable) + "\n") return std::nullopt;
  count_as_used(path(key));
  return executable;
}

void ExecutableCache::write(const std::string& key, std::string_view executable) const {
  if (static_cast<int64_t>(kHeaderSize + executable.size()) > limits_.bytes) return;
  std::string bytes(kMagic);
  bytes.append(sha256_hex(executable)).append("\n").append(executable);
  write_atomically(path(key), bytes);
  remove_old();
}

// Skips files that can't be inspected or removed: another process may be removing them, and the
// next write tries again.
void ExecutableCache::remove_old() const {
  struct Entry {
    fs::path path;
    fs::file_time_type used;
    int64_t bytes;
  };
  const auto now = fs::file_time_type::clock::now();
  std::vector<Entry> entries;
  int64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator at(dir_, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    const bool is_file = at->is_regular_file(gone);
    const Entry entry{at->path(), at->last_write_time(gone),
                      is_file ? static_cast<int64_t>(at->file_size(gone)) : 0};
    if (gone || !is_file) continue;
    const fs::path name = entry.path.filename();
    const auto unused_for = now - entry.used;
    if (is_entry(name)) {
      total += entry.bytes;
      entries.push_back(entry);
    } else if ((is_note(name) && unused_for > limits_.unused_for) ||
               (is_temporary(name) && unused_for > kStale)) {
      fs::remove(entry.path, gone);
    }
  }
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (total <= limits_.bytes && now - entry.used <= limits_.unused_for) break;
    std::error_code ignored;
    fs::remove(entry.path, ignored);
    total -= entry.bytes;
  }
}

void ExecutableCache::remove(const std::string& key) const {
  std::error_code ignored;
  fs::remove(path(key), ignored);
}

}  // namespace axle
