#include "pjrt/plugin/find_plugin.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <sstream>

#include "base/error.h"
#include "base/folders.h"
#include "base/process_start.h"
#include "io/file.h"
#include "io/file_reader.h"
#include "pjrt/plugin/plugin_pins.h"

namespace axle {
namespace {

constexpr unsigned char kOurByteOrder =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

// Returns offset + num_bytes, or the largest number if the sum overflows.
uint64_t end_of(uint64_t offset, uint64_t num_bytes) {
  uint64_t end = 0;
  return __builtin_add_overflow(offset, num_bytes, &end) ? std::numeric_limits<uint64_t>::max()
                                                         : end;
}

template <class T>
bool read_struct(const FileReader& file, uint64_t offset, T& out) {
  return file.read_some(static_cast<int64_t>(offset), std::as_writable_bytes(std::span(&out, 1))) ==
         sizeof(T);
}

uint64_t expected_bytes(const FileReader& file) {
  const auto size = static_cast<uint64_t>(file.size());
  Elf64_Ehdr header;
  if (!read_struct(file, 0, header)) return sizeof(header);
  const auto table_end = [](uint64_t offset, uint64_t entry_bytes, uint64_t num_entries) {
    return num_entries == 0 ? 0 : end_of(offset, entry_bytes * num_entries);
  };
  uint64_t end = std::max(table_end(header.e_phoff, header.e_phentsize, header.e_phnum),
                          table_end(header.e_shoff, header.e_shentsize, header.e_shnum));
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    const uint64_t at = end_of(header.e_phoff, i * header.e_phentsize);
    Elf64_Phdr segment;
    if (end_of(at, sizeof(segment)) > size) break;  // the table itself is truncated
    if (!read_struct(file, at, segment)) break;
    if (segment.p_type != PT_NULL) end = std::max(end, end_of(segment.p_offset, segment.p_filesz));
  }
  return end;
}

}  // namespace

std::optional<SharedObjectSize> shared_object_size(const std::filesystem::path& path) {
  try {
    const FileReader file(path);
    unsigned char identity[EI_NIDENT];
    if (!read_struct(file, 0, identity) || std::memcmp(identity, ELFMAG, SELFMAG) != 0 ||
        identity[EI_CLASS] != ELFCLASS64 || identity[EI_DATA] != kOurByteOrder)
      return std::nullopt;
    return SharedObjectSize{static_cast<uint64_t>(file.size()), expected_bytes(file)};
  } catch (const StorageError&) {  // the loader reports why
    return std::nullopt;
  }
}

namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 4;  // the plugin of an unpacked wheel lies one or two folders deep

bool is_file(const fs::path& path) {
  std::error_code ignored;  // a path without permission counts as missing
  return fs::is_regular_file(path, ignored);
}

std::optional<fs::path> find_below(const fs::path& folder, const std::string& file) {
  std::error_code error;
  const auto options = fs::directory_options::follow_directory_symlink |
                       fs::directory_options::skip_permission_denied;
  auto entries = fs::recursive_directory_iterator(folder, options, error);
  std::optional<fs::path> found;
  // Directories list their entries in any order. The first match by name is taken, so that two runs
  // find the same file.
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    const fs::path& path = entries->path();
    // A folder with a hidden name is a download in progress (fetch/fetch_plugin).
    if (entries.depth() >= kMaxDepth || path.filename().string().starts_with('.'))
      entries.disable_recursion_pending();
    if (path.filename() == file && (!found || path < *found) && is_file(path)) found = path;
  }
  return found;
}

/// Returns the CUDA toolkits below `folder`, in the layout of NVIDIA's wheels: nvidia/cu13.
std::vector<fs::path> toolkits_below(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder / "nvidia", error)) {
    if (entry.path().filename().string().starts_with("cu")) out.push_back(entry.path());
  }
  std::ranges::sort(out, std::greater<>());  // the newest first
  return out;
}

/// Returns the value of --xla_gpu_cuda_data_dir in XLA_FLAGS; empty if it is not set.
fs::path toolkit_of_flags() {
  std::istringstream words(environment_variable("XLA_FLAGS"));
  constexpr std::string_view kName = "--xla_gpu_cuda_data_dir=";
  for (std::string word; words >> word;) {
    if (word.starts_with(kName)) return word.substr(kName.size());
  }
  return {};
}

}  // namespace

std::vector<fs::path> plugin_folders() { return own_folders("plugins"); }

fs::path named_plugin_file(std::string_view platform) {
  const fs::path named = environment_variable(plugin_variable(platform));
  if (named.empty() || !path_problem(named.native()).empty()) return named;
  std::error_code error;  // set if the current folder no longer exists
  const fs::path full = fs::absolute(named, error);
  return (error ? named : full).lexically_normal();
}

std::string advice_for(std::string_view platform, const fs::path& file) {
  if (named_plugin_file(platform) != file) return {};
  return fmt::format("; {} must name a plugin for {}", plugin_variable(platform), platform);
}

namespace {

std::optional<fs::path> plugin_in_folders(const PluginPolicy& policy) {
  for (const auto& folder : plugin_folders()) {
    for (const auto& file : policy.files) {
      if (auto found = find_below(folder, file)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<fs::path> find_plugin_file(const PluginPolicy& policy) {
  const fs::path named = named_plugin_file(policy.platform);
  if (named.empty()) return plugin_in_folders(policy);
  if (is_file(named)) return named;
  if (const std::string problem = path_problem(named.native()); !problem.empty())
    throw DeviceError(fmt::format("{}: {}", plugin_variable(policy.platform), problem));
  const auto other = plugin_in_folders(policy);
  const std::string advice = other                          ? "unset it to use " + other->string()
                             : plugin_pins(policy.platform) ? "unset it and " + policy.install_hint
                                                            : policy.install_hint;
  throw DeviceError(fmt::format("{}: expected the file of a PJRT plugin, got '{}'; {}",
                                plugin_variable(policy.platform), named.string(), advice));
}

std::optional<fs::path> find_cuda_toolkit(const fs::path& plugin_folder) {
  std::vector<fs::path> candidates = {toolkit_of_flags()};
  const auto add_all = [&](const std::vector<fs::path>& folders) {
    candidates.insert(candidates.end(), folders.begin(), folders.end());
  };
  const auto add_beside = [&](const fs::path& folder) {
    // Python packages install jax_plugins/xla_cuda13/plugin.so beside nvidia/.
    if (!folder.empty()) add_all(toolkits_below(folder.parent_path().parent_path()));
  };
  add_beside(plugin_folder);
  add_beside(named_plugin_file("cuda").parent_path());
  for (const auto& folder : plugin_folders()) add_all(toolkits_below(folder));
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    candidates.emplace_back(environment_variable(name));
  }
  candidates.emplace_back("/usr/local/cuda");
  for (const auto& folder : candidates) {
    if (!folder.empty() && is_file(folder / "bin/ptxas") &&
        is_file(folder / "nvvm/libdevice/libdevice.10.bc"))
      return folder;
  }
  return std::nullopt;
}

}  // namespace axle
