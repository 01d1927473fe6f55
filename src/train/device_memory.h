// Checks that the compiled programs of a run fit into the memory of the devices.
#pragma once

#include <string>

#include "runtime/host_needs.h"

namespace axle {

/// Throws DeviceError (kDoesNotFit) naming the first program that needs more memory than a device
/// has. The programs run one after another, the step first; the step's arguments stay on the
/// devices while the other programs run. Programs and devices whose memory the plugin does not
/// report pass the check.
void check_device_memory(std::span<const NamedProgram> programs, const Topology& topology);

/// Returns "the step needs 63.2 of the 72.8 GiB that programs may use on a device". Empty if the
/// plugin does not report both sizes.
std::string device_memory_text(const NamedProgram& step, const Topology& topology);

}  // namespace axle
