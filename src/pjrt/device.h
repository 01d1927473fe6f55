// Reading the description of a device, which is present or only described by a topology.
#pragma once

#include <string_view>

#include "pjrt/abi/client.h"
#include "pjrt/plugin/plugin.h"
#include "runtime/runtime.h"

namespace axle {

/// Reads id and kind, and the process, slice, coordinates and memory where the plugin reports them.
/// Throws DeviceError, whose message begins with `where`.
DeviceInfo read_device(const Plugin& plugin, pjrt::DeviceDescription* description,
                       std::string_view where);

}  // namespace axle
