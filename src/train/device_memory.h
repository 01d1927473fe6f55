// What a compiled program needs of each device, before anything is put there.
#pragma once

#include <string>

#include "runtime/runtime.h"

namespace axle {

/// "the step needs 63.2 of the 72.8 GiB of a device that programs get"; empty where the plugin does
/// not tell. Throws DeviceError (kDoesNotFit) with the same figures for a program that needs more.
std::string device_memory_text(const CompiledProgram& program, const Topology& topology);

}  // namespace axle
