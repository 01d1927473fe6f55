// The compiler's settings that Axle chooses for each kind of device, as one table. A user's own
// value of the same name wins.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/runtime.h"

namespace axle {

using Setting = std::pair<std::string, std::string>;  // name, value
using Settings = std::vector<Setting>;

/// Whether the compiler can measure on a device or must go by its description.
enum class DevicePresence { kHere, kDescribed };

/// When a row counts, beside its kind of device.
enum class SettingScope {
  kAlways,
  kSeveralSlices,   // several slices, which only the slow network joins
  kWithoutDevices,  // devices that are only described
};

struct CompilerSetting {
  std::string platform;
  /// How the device's kind begins, as the plugin prints it ("TPU v6 lite"); empty: every kind.
  std::string device_kind;
  SettingScope scope = SettingScope::kAlways;
  std::string name, value;
  std::string why;
};

/// All rows.
const std::vector<CompilerSetting>& compiler_settings();

/// Those that count for the devices of `topology`, in the table's order.
Settings settings_for(const Topology& topology, DevicePresence presence);

}  // namespace axle
