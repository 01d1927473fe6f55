// The pinned packages that contain a plugin and the tools that its compiler needs. The lists are
// the files of tools/plugins/, one for each platform that can be fetched; they are built into the
// program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

/// One package (a wheel of a Python package index), identified by its hash.
struct PinnedWheel {
  std::string name;     // "nvidia-cuda-nvcc"
  std::string version;  // "13.5.37"
  std::string sha256;
  int64_t size_bytes = 0;
  /// The file that the wheel is fetched for, relative to the folder that it is unpacked into:
  /// "nvidia/cu13/bin/ptxas".
  std::string file;

  bool operator==(const PinnedWheel&) const = default;
};

struct PluginPins {
  std::string platform;
  /// The wheel with the plugin itself comes first.
  std::vector<PinnedWheel> wheels = {};
  /// The text of the list. A copy of it beside the unpacked wheels means that all of them are
  /// unpacked in exactly these versions.
  std::string list = {};
};

/// Parses a list. Throws DataError naming the line that it cannot read.
PluginPins parse_plugin_pins(std::string_view platform, std::string_view list);
/// Returns the list of a platform; nullptr if nothing can be fetched for the platform.
const PluginPins* plugin_pins(std::string_view platform);

/// Returns the wheels of `pins` that are not unpacked in `folder` in exactly the pinned version.
std::vector<PinnedWheel> outdated_wheels(const PluginPins& pins,
                                         const std::filesystem::path& folder);
/// Records in `folder` that `wheels` are unpacked there as well now. The record is the whole list
/// once no wheel is outdated, else the lines of the wheels that are up to date.
void record_unpacked(const PluginPins& pins, const std::vector<PinnedWheel>& wheels,
                     const std::filesystem::path& folder);

namespace detail {
struct PluginList {
  std::string_view platform, text;
};
/// Returns the files of tools/plugins/ as they were when the program was built.
std::span<const PluginList> plugin_lists();
}  // namespace detail

}  // namespace axle
