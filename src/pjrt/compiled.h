// What a PJRT plugin tells of a compiled program, whether it was loaded onto devices or not.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "lower/program.h"
#include "pjrt/abi_executable.h"
#include "pjrt/plugin/plugin.h"
#include "pjrt/plugin/plugin_object.h"
#include "runtime/runtime.h"

namespace axle {

/// Owns PJRT's executable; its functions are those of CompiledProgram.
class PjrtCompiled {
 public:
  /// Takes `executable` over. Throws DeviceError if there is none or its results are not as many as
  /// the program's.
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
