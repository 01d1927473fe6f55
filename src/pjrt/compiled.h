// A program that a PJRT plugin has compiled, whether loaded onto devices or not.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "lower/trace_program.h"
#include "pjrt/abi/executable.h"
#include "pjrt/plugin/plugin.h"
#include "pjrt/plugin/plugin_object.h"
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

}  // namespace axle
