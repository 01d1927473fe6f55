// What this machine is called in mesh rules.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace axle {

/// The machine type of a backend's devices here: "cpu-16" (cores), "gpu-H100-8", "tpu-v5p-8",
/// "neuron-trn2.48xlarge-64"; with "-unknown" behind the backend's name where the system does not
/// tell. No plugin is loaded and no device opened. GPUs are looked up in the driver's table under
/// `proc`, TPUs in TPU_ACCELERATOR_TYPE, which the cloud sets, other devices in the name of the
/// cloud's machine, which the firmware tells under `dmi`.
std::string host_machine(std::string_view backend = "cpu",
                         const std::filesystem::path& proc = "/proc",
                         const std::filesystem::path& dmi = "/sys/devices/virtual/dmi/id");

}  // namespace axle
