// The reference interpreter as a Runtime: slow, simple, and without a plugin.
#pragma once

#include "runtime/runtime.h"

namespace axle {

/// Runs Program::graph on host tensors, synchronously. It computes whole tensors for any mesh.
class InterpreterRuntime final : public Runtime {
 public:
  /// Reports `num_devices` devices, so that it also runs programs for a mesh of that size.
  explicit InterpreterRuntime(int64_t num_devices);

  const Topology& topology() const override { return topology_; }
  /// Throws DeviceError for a program without a graph.
  std::unique_ptr<Executable> compile(const Program& program,
                                      const CompileOptions& options) override;
  /// Always throws DeviceError: the interpreter has no compiled form of a program.
  std::unique_ptr<Executable> load(const std::string& serialized, const Program& program) override;
  ArrayPtr make_array(const HostTensor& value, const PartitionSpec& sharding,
                      const Mesh& mesh) override;

 private:
  Topology topology_;
};

}  // namespace axle
