// The reference interpreter behind the interface of runtimes: slow, exact, needs no plugin.
#pragma once

#include "runtime/runtime.h"

namespace axle {

/// Runs Program::graph on host tensors, at once. A mesh changes nothing: whole tensors are
/// computed.
class InterpreterRuntime final : public Runtime {
 public:
  /// Pretends to have `num_devices` devices, so that programs for meshes can be compared with it.
  explicit InterpreterRuntime(int64_t num_devices);

  const Topology& topology() const override { return topology_; }
  /// Throws DeviceError for a program without a graph.
  std::unique_ptr<Executable> compile(const Program& program,
                                      const CompileOptions& options) override;
  /// There is nothing to load: throws DeviceError.
  std::unique_ptr<Executable> load(const std::string& serialized, const Program& program) override;
  ArrayPtr make_array(const HostTensor& value, const PartitionSpec& sharding,
                      const Mesh& mesh) override;

 private:
  Topology topology_;
};

}  // namespace axle
