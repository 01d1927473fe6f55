// A runtime that records what is compiled on it.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/runtime.h"

namespace axle {

/// Forwards to `inner`. Appends the name of every program that is compiled or loaded to `compiled`,
/// which must outlive it. Refuses to compile the program named `refused`.
class CountingRuntime final : public Runtime {
 public:
  CountingRuntime(std::unique_ptr<Runtime> inner, std::vector<std::string>& compiled,
                  std::string refused = {})
      : inner_(std::move(inner)), compiled_(compiled), refused_(std::move(refused)) {}
  const Topology& topology() const override { return inner_->topology(); }
  std::unique_ptr<Executable> compile(const Program& program,
                                      const CompileOptions& options) override {
    compiled_.push_back(program.name);
    if (program.name == refused_)
      throw DeviceError(program.name + ": refused", ExitCode::kDoesNotCompile);
    return inner_->compile(program, options);
  }
  std::unique_ptr<Executable> load(const std::string& serialized, const Program& program) override {
    compiled_.push_back(program.name);
    return inner_->load(serialized, program);
  }
  ArrayPtr make_array(const HostTensor& value, const PartitionSpec& sharding,
                      const Mesh& mesh) override {
    return inner_->make_array(value, sharding, mesh);
  }

 private:
  std::unique_ptr<Runtime> inner_;
  std::vector<std::string>& compiled_;
  std::string refused_;
};

}  // namespace axle
