// What a compiled program needs of each device, before anything is put there.
#pragma once

#include <string>

#include "runtime/host_needs.h"

namespace axle {

/// Of programs that run one after another, the step first, whose arguments stay on the devices
/// while the others run: throws DeviceError (kDoesNotFit) naming the first that needs more than a
/// device has. Passes what the plugin does not tell.
void check_device_memory(std::span<const NamedProgram> programs, const Topology& topology);

/// "the step needs 63.2 of the 72.8 GiB of a device that programs get"; empty where the plugin does
/// not tell.
std::string device_memory_text(const NamedProgram& step, const Topology& topology);

}  // namespace axle
