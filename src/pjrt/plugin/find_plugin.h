// Checks that the file of a shared object is complete. The loader maps a truncated file without an
// error, and the program then crashes when it reads past the end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pjrt/plugin/plugin_policy.h"

namespace axle {

/// The size of a file, and the least size that its ELF header implies: all mapped segments and both
/// header tables.
struct SharedObjectSize {
  uint64_t bytes = 0;
  uint64_t expected_bytes = 0;
  bool is_complete() const { return bytes >= expected_bytes; }
};

/// Returns none for a file that the loader refuses by itself: it cannot be read, or is not a 64-bit
/// ELF file in this machine's byte order.
std::optional<SharedObjectSize> shared_object_size(const std::filesystem::path& path);

/// Returns the folders in which plugins are searched: own_folders("plugins").
std::vector<std::filesystem::path> plugin_folders();
/// Returns the value of AXLE_PLUGIN_<NAME> as a full path, whether that file exists or not. Empty
/// if the variable is not set.
std::filesystem::path named_plugin_file(std::string_view platform);
/// Returns "; AXLE_PLUGIN_CUDA must name a plugin for cuda", to end an error message with, if that
/// variable names `file`; else "".
std::string advice_for(std::string_view platform, const std::filesystem::path& file);
/// Returns the file of the platform's plugin: named_plugin_file(), else the first match below
/// plugin_folders(); none if there is no match. Throws DeviceError if AXLE_PLUGIN_<NAME> is set but
/// names no file.
std::optional<std::filesystem::path> find_plugin_file(const PluginPolicy& policy);
/// Returns the folder with bin/ptxas and nvvm/libdevice, which the CUDA compiler needs as its
/// option xla_gpu_cuda_data_dir; none if there is no such folder. The places are searched in this
/// order:
///   the folder that XLA_FLAGS names
///   nvidia/cu* beside the package of the plugin in `plugin_folder`, then of AXLE_PLUGIN_CUDA
///   nvidia/cu* in plugin_folders()
///   CUDA_HOME, CUDA_PATH, /usr/local/cuda
std::optional<std::filesystem::path> find_cuda_toolkit(
    const std::filesystem::path& plugin_folder = {});

}  // namespace axle
