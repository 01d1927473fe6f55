// What Axle knows about each platform's PJRT plugin before loading it, as a table with one row per
// platform. A new backend is one more row.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/runtime.h"

namespace axle {

/// How a plugin checks the struct_size of an argument struct.
enum class StructSizes {
  kPadded,  // the plugin accepts a larger struct: we append zeroed room for later fields
  kExact,   // the plugin refuses every size but its own
};

/// An environment variable that the plugin reads while it is loaded.
struct EnvironmentDefault {
  std::string name = {};
  std::string value = {};
  /// If true, the value is a list of --name=value. The flags that the user's own value does not
  /// name are appended to it.
  bool is_flag_list = false;
  /// The variable is set only if none of these files exists: it is for machines without the device.
  std::vector<std::string> unless_file = {};
};

/// The part of a device's memory that a client takes for programs. The rest, at least 4 GiB, is for
/// the driver's context and kernels (about 0.6 GiB) and the buffers of collectives (up to about
/// 3 GiB with hundreds of devices).
struct ClientMemory {
  /// 0: the plugin decides.
  float fraction = 0;
  /// True: the client takes the memory at its start; false: as it is needed.
  bool preallocate = true;
};

struct PluginPolicy {
  std::string platform = {};
  /// Possible file names of the plugin, the most likely first.
  std::vector<std::string> files = {};
  StructSizes struct_sizes = StructSizes::kPadded;
  /// Name of the client option (int64) for the number of virtual devices; empty if the platform has
  /// only real devices.
  std::string device_count_option = {};
  FastNetwork fast_network = FastNetwork::kAll;
  ClientMemory memory = {};
  std::vector<EnvironmentDefault> environment = {};
  /// Files such as /dev/nvidia0: one of them exists if the machine has a device of the platform.
  /// Empty: every machine counts as a device.
  std::vector<std::string> device_files = {};
  /// True if the plugin compiles for absent devices, from a topology description.
  bool compiles_ahead = false;
  /// True if the plugin's compiler calls ptxas and reads libdevice (find_cuda_toolkit).
  /// apply_environment then sets their folder in XLA_FLAGS.
  bool needs_cuda_toolkit = false;
  /// True if an executable that is loaded from bytes may run the collectives inside and outside of
  /// its loops in a different order on each device, so that the devices wait for each other for
  /// ever.
  bool reorders_loaded_collectives = false;
  /// Plugin attributes that together identify the compiler, for plugins whose platform version is
  /// that of the device or is empty. Empty: the platform version identifies the compiler.
  std::vector<std::string> compiler_attributes = {};
  /// What the plugin can't do and what we have never tried, for users; empty: nothing.
  std::string limits = {};
  /// One command or sentence that tells the user how to get the plugin.
  std::string install_hint = {};
};

/// Returns all rows, in the order in which users see them.
const std::vector<PluginPolicy>& plugin_policies();

/// Returns the row of `platform`. A platform without a row gets a default one, so that
/// AXLE_PLUGIN_<NAME> works for any plugin.
PluginPolicy plugin_policy(std::string_view platform);

/// Returns the bytes that programs may use on a device with `device_bytes` of memory. `axle
/// compile` compares a program's size with them.
int64_t bytes_for_programs(const PluginPolicy& policy, int64_t device_bytes);

/// True if this machine has a device of the platform, judged by `device_files` alone.
bool has_device(const PluginPolicy& policy);

/// Returns "AXLE_PLUGIN_CPU", the environment variable that names the file of a platform's plugin.
std::string plugin_variable(std::string_view platform);

/// Sets the row's environment variables in this process; values that the user has set stay.
/// `folder` is the plugin's folder. Throws ConfigError if the user's value for a list of flags is
/// neither flags nor the name of a file.
void apply_environment(const PluginPolicy& policy, const std::filesystem::path& folder);

/// Returns `flags` followed by those of `defaults` ("--a=1 --b=2") whose names `flags` does not
/// contain.
std::string merge_flags(std::string_view flags, std::string_view defaults);

}  // namespace axle
