#include "train/device_memory.h"

#include <fmt/format.h>

#include "base/error.h"

namespace axle {

std::string device_memory_text(const CompiledProgram& program, const Topology& topology) {
  const auto memory = program.memory();
  if (!memory || topology.devices.empty() || !topology.devices[0].memory_bytes) return {};
  const int64_t needed = memory->total_bytes(), there = *topology.devices[0].memory_bytes;
  const auto gib = [](int64_t bytes) { return static_cast<double>(bytes) / 0x1p30; };
  if (needed > there) {
    throw DeviceError(
        fmt::format("train step: expected a program for the {:.1f} GiB of a device that programs "
                    "get, got one that needs {:.1f} GiB; take more devices, a smaller batch or "
                    "another remat policy",
                    gib(there), gib(needed)),
        ExitCode::kDoesNotFit);
  }
  return fmt::format("the step needs {:.1f} of the {:.1f} GiB of a device that programs get",
                     gib(needed), gib(there));
}

}  // namespace axle
