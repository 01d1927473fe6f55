// The name of this machine in mesh rules.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace axle {

/// Returns the machine type of a backend's devices on this machine: "cpu-16" (cores), "gpu-H100-8",
/// "tpu-v5p-8" or "neuron-trn2.48xlarge-64". If the system does not report the type, returns the
/// backend's name with "-unknown". Loads no plugin and opens no device. Sources:
///   GPUs           the driver's table under `proc`
///   TPUs           TPU_ACCELERATOR_TYPE, which the cloud sets
///   other devices  the name of the cloud's machine, which the firmware gives under `dmi`
std::string host_machine(std::string_view backend = "cpu",
                         const std::filesystem::path& proc = "/proc",
                         const std::filesystem::path& dmi = "/sys/devices/virtual/dmi/id");

}  // namespace axle
