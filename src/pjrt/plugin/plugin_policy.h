// What Axle knows about each platform's PJRT plugin beforehand: one row per platform. A new backend
// is one more row.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/runtime.h"

namespace axle {

/// How a plugin judges the size that a struct of arguments claims to have.
enum class StructSizes {
  kPadded,  // a larger struct is accepted: room for fields of later versions is left, zeroed
  kExact,   // any other size than its own is refused
};

/// A variable of the environment that the plugin reads while it is loaded.
struct EnvironmentDefault {
  std::string name = {};
  std::string value = {};
  /// The value is a list of --name=value; those are added that the user's own value does not name.
  bool is_flag_list = false;
  /// Only where none of these files exist: settings for machines without the device.
  std::vector<std::string> unless_file = {};
};

/// How much of a device's memory a client takes for programs, all of it at its start or as it is
/// needed. The rest, 4 GiB at least, stays for what lies beside them: the driver's context and
/// kernels (about 0.6 GiB) and the buffers of collectives (up to about 3 GiB with hundreds of
/// devices).
struct ClientMemory {
  /// 0: the plugin takes what there is.
  float fraction = 0;
  bool preallocate = true;
};

struct PluginPolicy {
  std::string platform = {};
  /// File names of the plugin, the most likely first.
  std::vector<std::string> files = {};
  StructSizes struct_sizes = StructSizes::kPadded;
  /// Client option (int64) for the number of virtual devices; empty where devices are what they
  /// are.
  std::string device_count_option = {};
  FastNetwork fast_network = FastNetwork::kAll;
  ClientMemory memory = {};
  std::vector<EnvironmentDefault> environment = {};
  /// Files of the system that are there where a device is; empty: every machine is one.
  std::vector<std::string> device_files = {};
  /// Whether it compiles for machines that are not here.
  bool compiles_ahead = false;
  /// Whether its compiler calls ptxas and reads libdevice (find_cuda_toolkit): XLA_FLAGS then tell
  /// it where.
  bool needs_cuda_toolkit = false;
  /// Whether a program that is loaded from bytes may take the collectives of its loops and those
  /// around them in another order on each device, and so wait for ever.
  bool saving_loses_order = false;
  /// The plugin's attributes that tell which compiler it holds, where the version of its platform
  /// is that of the device or none at all; empty: it is the compiler's.
  std::vector<std::string> compiler_attributes = {};
  /// What it can't do, and what we have never tried; empty: nothing.
  std::string limits = {};
  /// The one command or sentence that gets it.
  std::string how_to_get = {};
};

/// All rows, in the order in which they are listed to users.
const std::vector<PluginPolicy>& plugin_policies();

/// The row of `platform`; a platform without a row gets a plain one, so that AXLE_PLUGIN_<NAME>
/// works for any plugin.
PluginPolicy plugin_policy(std::string_view platform);

/// Of a device with so many bytes, those that programs get: what `axle compile` compares with.
int64_t bytes_for_programs(const PluginPolicy& policy, int64_t device_bytes);

/// Whether this machine has a device of the platform, as far as the system's files tell.
bool has_device(const PluginPolicy& policy);

/// "AXLE_PLUGIN_CPU": names the plugin's file for a platform.
std::string plugin_variable(std::string_view platform);

/// Sets what the row asks for in this process's environment; what the user has set stays. `folder`:
/// where the plugin lies. Throws ConfigError for a list of flags that is neither one nor a file.
void apply_environment(const PluginPolicy& policy, const std::filesystem::path& folder);

/// `flags` with those of `defaults` ("--a=1 --b=2") appended whose names it does not hold.
std::string merge_flags(std::string_view flags, std::string_view defaults);

}  // namespace axle
