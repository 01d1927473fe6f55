#include "train/device_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text_table.h"

namespace axle {

void check_device_memory(std::span<const NamedProgram> programs, const Topology& topology) {
  if (topology.devices.empty() || !topology.devices[0].memory_bytes) return;
  const int64_t available_bytes = *topology.devices[0].memory_bytes;
  const auto step = programs.empty() ? std::nullopt : programs.front().program->memory();
  const int64_t state_bytes = step ? step->argument_bytes : 0;
  for (const auto& [name, program] : programs) {
    const auto memory = program->memory();
    if (!memory) continue;
    const int64_t needed = memory->total_bytes() - memory->argument_bytes +
                           std::max(state_bytes, memory->argument_bytes);
    if (needed <= available_bytes) continue;
    throw DeviceError(
        fmt::format(
            "{}: expected a program within the {} that programs may use on a device, got one "
            "that needs {}; use more devices, a smaller batch or another remat policy",
            name, bytes_text(available_bytes), bytes_text(needed)),
        ExitCode::kDoesNotFit);
  }
}

std::string device_memory_text(const NamedProgram& step, const Topology& topology) {
  const auto memory = step.program->memory();
  if (!memory || topology.devices.empty() || !topology.devices[0].memory_bytes) return {};
  return fmt::format("{} needs {} of the {} that programs may use on a device", step.name,
                     bytes_text(memory->total_bytes()),
                     bytes_text(*topology.devices[0].memory_bytes));
}

}  // namespace axle
