#include "runtime/executable_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/environment.h"
#include "base/error.h"
#include "base/hash.h"
#include "lower/stablehlo.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

// An entry: this line, the SHA-256 of the rest, a line end, the executable.
constexpr std::string_view kMagic = "axle executable 1\n";
constexpr size_t kHeaderSize = kMagic.size() + 64 + 1;

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) return std::nullopt;
  return bytes;
}

/// Writes beside the target, then renames: readers see the old file or the new one.
bool write_atomically(const fs::path& path, std::string_view bytes) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::string temporary = path.string() + ".XXXXXX";
  const int file = ::mkstemp(temporary.data());
  if (file < 0) return false;
  size_t done = 0;
  while (done < bytes.size()) {
    const auto n = ::write(file, bytes.data() + done, bytes.size() - done);
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  const bool complete = (::close(file) == 0) && done == bytes.size();
  if (complete) fs::rename(temporary, path, error);
  if (complete && !error) return true;
  fs::remove(temporary, error);
  return false;
}

std::string hash_of_file(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    throw StorageError(fmt::format("{}: can't be read: {}", path.string(), std::strerror(errno)));
  const auto size = static_cast<size_t>(fs::file_size(path));
  void* bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  ::close(file);
  if (bytes == MAP_FAILED)
    throw StorageError(fmt::format("{}: can't be mapped: {}", path.string(), std::strerror(errno)));
  std::string hash = sha256_hex({static_cast<const char*>(bytes), size});
  ::munmap(bytes, size);
  return hash;
}

}  // namespace

std::string plugin_hash(const fs::path& plugin, const fs::path& cache_dir) {
  if (cache_dir.empty()) return hash_of_file(plugin);
  const auto changed = fs::last_write_time(plugin).time_since_epoch().count();
  const auto identity =
      fmt::format("{}\n{}\n{}\n", plugin.string(), fs::file_size(plugin), changed);
  const auto note = cache_dir / fmt::format("plugin-{:016x}.sha256", xxh3_64(identity));
  if (const auto known = read_file(note);
      known && known->starts_with(identity) && known->size() == identity.size() + 64) {
    return known->substr(identity.size());
  }
  std::string hash = hash_of_file(plugin);
  write_atomically(note, identity + hash);
  return hash;
}

std::string host_instruction_sets() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("flags") || line.starts_with("Features")) return line;
  }
  return "unknown";
}

std::string ExecutableCache::key(const Plugin& plugin, const Topology& topology,
                                 const std::string& text, std::string_view options) const {
  std::string parts;
  // Lengths keep neighbours apart: no two lists of parts give the same bytes.
  const auto add = [&](std::string_view name, std::string_view part) {
    fmt::format_to(std::back_inserter(parts), "{} {}\n{}\n", name, part.size(), part);
  };
  add("text", without_locations(text));
  add("options", options);
  add("plugin", plugin_hash(plugin.path(), dir_));
  add("platform", topology.platform + " " + topology.platform_version);
  for (const auto& device : topology.devices)
    add("device", fmt::format("{} {}", device.id, device.kind));
  add("flags", environment_variable("XLA_FLAGS"));
  if (topology.platform == "cpu") add("host", host_instruction_sets());
  return sha256_hex(parts);
}

std::optional<std::string> ExecutableCache::read(const std::string& key) const {
  auto bytes = read_file(path(key));
  if (!bytes || bytes->size() < kHeaderSize || !bytes->starts_with(kMagic)) return std::nullopt;
  std::string executable = bytes->substr(kHeaderSize);
  if (bytes->substr(kMagic.size(), 65) != sha256_hex(executable) + "\n") return std::nullopt;
  return executable;
}

bool ExecutableCache::write(const std::string& key, std::string_view executable) const {
  std::string bytes(kMagic);
  bytes.append(sha256_hex(executable)).append("\n").append(executable);
  return write_atomically(path(key), bytes);
}

void ExecutableCache::remove(const std::string& key) const {
  std::error_code ignored;
  fs::remove(path(key), ignored);
}

}  // namespace axle
