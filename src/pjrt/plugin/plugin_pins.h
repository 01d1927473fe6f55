// Which packages bring a plugin and what its compiler needs: the lists of tools/plugins/, one for
// each platform that can be fetched, built into the program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

/// One package (a wheel of a Python package index), known by its hash.
struct PinnedWheel {
  std::string name;     // "nvidia-cuda-nvcc"
  std::string version;  // "13.5.37"
  std::string sha256;
  int64_t size_bytes = 0;
  /// What it is fetched for, below the folder into which it is unpacked: "nvidia/cu13/bin/ptxas".
  std::string file;

  bool operator==(const PinnedWheel&) const = default;
};

struct PluginPins {
  std::string platform;
  /// The plugin's own first.
  std::vector<PinnedWheel> wheels = {};
  /// The list itself. A copy beside the unpacked wheels says that they are complete, in just these
  /// versions.
  std::string list = {};
};

/// Reads a list. Throws DataError naming the line that it cannot read.
PluginPins parse_plugin_pins(std::string_view platform, std::string_view list);
/// The platform's own list; nullptr: nothing can be fetched for it.
const PluginPins* plugin_pins(std::string_view platform);

/// The wheels of `pins` that are not unpacked in `folder` in just this version.
std::vector<PinnedWheel> outdated_wheels(const PluginPins& pins,
                                         const std::filesystem::path& folder);
/// Notes beside the wheels in `folder` that these ones of the list lie there as well now: the whole
/// list once nothing is outdated, else the lines of those that are not.
void note_unpacked(const PluginPins& pins, const std::vector<PinnedWheel>& wheels,
                   const std::filesystem::path& folder);

namespace detail {
struct PluginList {
  std::string_view platform, text;
};
/// The files of tools/plugins/ as they were when the program was built.
std::span<const PluginList> plugin_lists();
}  // namespace detail

}  // namespace axle
