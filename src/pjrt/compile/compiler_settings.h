// The compiler settings that Axle chooses for each kind of device, as one table. A user's own value
// for the same name wins.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/runtime.h"

namespace axle {

using Setting = std::pair<std::string, std::string>;  // name, value
using Settings = std::vector<Setting>;

/// Whether the compiler has the device itself, to measure on, or only its description.
enum class DevicePresence { kPresent, kDescribed };

/// The condition, besides the kind of device, under which a row applies.
enum class SettingScope {
  kAlways,
  kSeveralSlices,   // the devices form several slices, which only the slow network joins
  kWithoutDevices,  // the devices are only described
};

struct CompilerSetting {
  std::string platform;
  /// Prefix of the device kind that the plugin prints ("TPU v6 lite"); empty: every kind.
  std::string device_kind;
  SettingScope scope = SettingScope::kAlways;
  std::string name, value;
  std::string why;
};

/// Returns all rows of the table.
const std::vector<CompilerSetting>& compiler_settings();

/// Returns the settings that apply to the devices of `topology`, in the order of the table.
Settings settings_for(const Topology& topology, DevicePresence presence);

/// Throws ConfigError if a user sets more options than anyone needs.
void check_user_settings(size_t count);

}  // namespace axle
