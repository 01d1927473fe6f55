// What a run puts into the host's memory, as far as its programs tell.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/host_memory_check.h"
#include "runtime/runtime.h"

namespace axle {

/// Whether the devices of a platform are the host's own cores, with its memory: cpu, interpreter.
bool is_host(std::string_view platform);

/// What a value takes on all devices of the mesh together: it is there as often as nothing divides
/// it.
int64_t bytes_on_devices(const ProgramValue& value, const Mesh& mesh);

/// Of a training state over a mesh: its parameters and the rest of it where the devices are the
/// host's own, and the copy of all of it that a save makes.
std::vector<HostNeed> state_needs(std::span<const ProgramValue> state, const Mesh& mesh,
                                  std::string_view platform);

/// A compiled program and what messages call it: "the step", "evalers.held_out".
struct NamedProgram {
  std::string name;
  const CompiledProgram* program = nullptr;
};
/// What programs that run one after another take beside their arguments on so many devices: the
/// share of the one that takes most. Nothing where the devices have memory of their own, or the
/// plugin does not tell.
std::vector<HostNeed> program_needs(std::span<const NamedProgram> programs, int64_t num_devices,
                                    std::string_view platform);

/// Throws as check_host_memory does where the host has not what `program` takes beside its
/// arguments, which are there already.
void check_program_room(const NamedProgram& program, int64_t num_devices,
                        std::string_view platform);

}  // namespace axle
