// An estimate of a program's memory on one device from its graph alone, without a compiler: to
// compare configs, to refuse what cannot fit before it is compiled, and to name large values where
// a compiler names none.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/host_memory.h"
#include "hlo/memory.h"
#include "lower/stablehlo.h"
#include "runtime/runtime.h"

namespace axle {

struct MemoryEstimate {
  /// Bytes of one device: the arguments, and the values at the peak.
  double argument_bytes = 0, temporary_bytes = 0;
  /// The largest values at the peak, sorted by bytes.
  std::vector<TemporaryBuffer> largest = {};
  double total_bytes() const { return argument_bytes + temporary_bytes; }
};

/// Follows the graph in its order. Counts what products, ops with a body and other ops that are not
/// fused leave in memory, and what the backward pass reads of the forward pass, from where it is
/// made to its last use, also by way of views. A value is divided over the devices as its
/// constraint says, or as the operand of its size is that it is made of. What a partitioner gathers
/// and what a compiler stores besides is not known here: on a CPU, programs need at least this
/// much, and up to several times as much where models are tiny.
MemoryEstimate estimate_memory(const Program& program);

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
