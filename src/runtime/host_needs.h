// How much host memory a run needs for its training state and its programs.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/host_memory.h"
#include "runtime/runtime.h"

namespace axle {

/// True if the devices of the platform are the host's own cores and memory: cpu and interpreter.
bool is_host(std::string_view platform);

/// Returns the bytes of a value on all devices of the mesh together, counting every replica.
int64_t bytes_on_devices(const ProgramValue& value, const Mesh& mesh);

/// Returns the host memory that a training state over a mesh needs. This is the copy of the state
/// that saving a checkpoint makes and, if the devices are the host's own, also the parameters and
/// the state of the learner.
std::vector<HostNeed> state_needs(std::span<const ProgramValue> state, const Mesh& mesh,
                                  std::string_view platform);

/// What to do where these needs alone exceed the host: no batch is small enough.
inline constexpr const char* kStateTooLarge =
    "the state alone does not fit; take a smaller model, or a machine with more memory";
/// Throws what check_host_memory throws if the host lacks the memory for state_needs() of devices
/// that each have the whole state.
void check_state_memory(std::span<const ProgramValue> state, std::string_view platform,
                        const HostMemory& memory);

/// A program that is not compiled yet, and its name in messages.
struct TracedProgram {
  std::string name;
  const Program* program = nullptr;
};
/// Returns the host memory that programs need besides their arguments at least, by the estimate of
/// their graphs (memory_estimate.h). Only the one that needs the most counts. Empty if the devices
/// have memory of their own.
std::vector<HostNeed> estimated_needs(std::span<const TracedProgram> programs,
                                      std::string_view platform);

/// A compiled program and its name in messages: "the step", "evalers.held_out".
struct NamedProgram {
  std::string name;
  const CompiledProgram* program = nullptr;
};
/// Returns the host memory that programs need besides their arguments on `num_devices` devices. The
/// programs run one after another, so only the one that needs the most counts. Empty if the devices
/// have memory of their own, or if the plugin does not report the memory of its programs.
std::vector<HostNeed> program_needs(std::span<const NamedProgram> programs, int64_t num_devices,
                                    std::string_view platform);

/// Throws what check_host_memory throws if the host lacks the memory that `program` needs besides
/// its arguments, which are in memory already.
void check_program_memory(const NamedProgram& program, int64_t num_devices,
                          std::string_view platform);

}  // namespace axle
