// Whether the host's memory holds a run: known before anything is allocated.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/host_memory.h"
#include "runtime/runtime.h"

namespace axle {

/// A part of what a run puts into the host's memory.
struct HostNeed {
  std::string what;
  int64_t bytes = 0;
};

/// Of a training state: its parameters and the rest of it where the devices are the host's own
/// cores (`platform` cpu or interpreter), and the copy of all of it that a save makes.
std::vector<HostNeed> state_needs(std::span<const ProgramValue> state, std::string_view platform);
/// What the compiled step takes beside its state on so many devices; nothing where the devices have
/// memory of their own, or the plugin does not tell.
std::vector<HostNeed> program_needs(const CompiledProgram& step, int64_t num_devices,
                                    std::string_view platform);

/// Throws Error with kDoesNotFit and the figures if `memory` has not as much available, where it is
/// known.
void check_host_memory(std::span<const HostNeed> needs, const HostMemory& memory);

}  // namespace axle
