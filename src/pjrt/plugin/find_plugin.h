// Where plugins lie on this machine, and what their compilers need beside them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pjrt/plugin/plugin_policy.h"

namespace axle {

/// The folders in which plugins are looked for: `.axle/plugins` under the current directory and
/// under the folder of the program and its parents, `axle/plugins` beside the installed library,
/// `.axle/plugins` in the home directory; not all of them exist.
std::vector<std::filesystem::path> plugin_folders();
/// The file that AXLE_PLUGIN_<NAME> names, as a full path, there or not; empty: it names none.
std::filesystem::path named_plugin(std::string_view platform);
/// "; AXLE_PLUGIN_CUDA must name a plugin for cuda" for the end of a message, if that variable has
/// named this file; else "".
std::string advice_for(std::string_view platform, const std::filesystem::path& file);
/// Where the platform's plugin lies: named_plugin(), else somewhere below plugin_folders().
/// Throws DeviceError if the variable names no file.
std::optional<std::filesystem::path> find_plugin_file(const PluginPolicy& policy);
/// The folder with bin/ptxas and nvvm/libdevice that the CUDA compiler needs (its option
/// xla_gpu_cuda_data_dir): the one in XLA_FLAGS, beside a plugin in `plugin_folder` or in
/// AXLE_PLUGIN_CUDA, in plugin_folders(), in CUDA_HOME or CUDA_PATH, or the system's.
std::optional<std::filesystem::path> find_cuda_toolkit(
    const std::filesystem::path& plugin_folder = {});

}  // namespace axle
