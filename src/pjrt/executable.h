// A program that a PJRT plugin has compiled, and one that it has loaded, too.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lower/stablehlo.h"
#include "pjrt/abi/executable.h"
#include "pjrt/array.h"
#include "pjrt/plugin/plugin.h"
#include "runtime/runtime.h"

namespace axle {

/// Owns PJRT's executable and implements the functions of CompiledProgram for it.
class PjrtCompiled {
 public:
  /// Takes ownership of `executable`. Throws DeviceError if it is null or if its number of results
  /// differs from that of `program`.
  PjrtCompiled(const Plugin& plugin, pjrt::Executable* executable, const Program& program);

  const std::string& name() const { return name_; }
  std::string serialize() const;
  std::optional<MemoryStats> memory() const;
  std::string optimized_program() const;
  std::map<std::string, double> cost_analysis() const;

 private:
  const Plugin& plugin_;
  std::string name_;
  PluginObject<pjrt::Executable, pjrt::ExecutableDestroy> executable_;
};

class PjrtExecutable final : public Executable {
 public:
  /// Takes ownership of `loaded`. Throws DeviceError if it is null or if its number of results
  /// differs from that of `program`.
  PjrtExecutable(std::shared_ptr<const PjrtClient> client, pjrt::LoadedExecutable* loaded,
                 const Program& program);

  Arrays execute(std::span<const ArrayPtr> arguments) override;
  std::string serialize() const override { return compiled_.serialize(); }
  std::optional<MemoryStats> memory() const override { return compiled_.memory(); }
  std::string optimized_program() const override { return compiled_.optimized_program(); }
  std::map<std::string, double> cost_analysis() const override { return compiled_.cost_analysis(); }

 private:
  PjrtArray& checked(size_t i, const ArrayPtr& argument) const;
  void take_donated(std::span<const ArrayPtr> arguments,
                    const std::vector<PjrtArray::Shards>& shards, bool started) const;

  std::shared_ptr<const PjrtClient> client_;
  Mesh mesh_;
  std::vector<ProgramValue> inputs_;
  std::vector<PartitionSpec> layouts_;  // canonical_sharding of each input over the mesh
  std::vector<ProgramValue> outputs_;
  PluginObject<pjrt::LoadedExecutable, pjrt::LoadedExecutableDestroy> loaded_;
  PjrtCompiled compiled_;
};

}  // namespace axle
