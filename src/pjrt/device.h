// What a plugin tells of its devices, present or only described by a topology.
#pragma once

#include <string_view>

#include "pjrt/abi_client.h"
#include "pjrt/plugin/plugin.h"
#include "runtime/runtime.h"

namespace axle {

/// Id and kind, and of the rest what the plugin tells. Throws DeviceError, which begins with
/// `where`.
DeviceInfo read_device(const Plugin& plugin, pjrt::DeviceDescription* description,
                       std::string_view where);

}  // namespace axle
