// Compiling for a target whose devices may be absent, and what the compiler warns of.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lower/stablehlo.h"
#include "pjrt/abi/executable.h"
#include "pjrt/plugin/plugin.h"
#include "runtime/runtime.h"
#include "targets/target.h"

namespace axle {

class Plugin;

/// The compiler of one target. It allocates no arguments and puts nothing onto devices.
class Compiler {
 public:
  explicit Compiler(Target target) : target_(std::move(target)) {}
  virtual ~Compiler() = default;
  const Target& target() const { return target_; }
  virtual const Plugin& plugin() const = 0;
  /// The target's devices as the plugin describes them.
  virtual const Topology& topology() const = 0;
  /// The target that compile() lowers a program for if the program depends on it.
  virtual LoweringTarget lowering_target() const = 0;
  /// Compiles `program`, whose mesh must not have more devices than the target. Only a CPU target,
  /// whose compiler loads the result at once, uses `options.cache_dir`. Throws DeviceError with the
  /// compiler's message (exit code kDoesNotFit or kDoesNotCompile), and ConfigError naming an
  /// option that the compiler refuses.
  virtual std::unique_ptr<CompiledProgram> compile(const Program& program,
                                                   const CompileOptions& options = {}) = 0;

 private:
  Target target_;
};

/// Makes a compiler from the plugin of the target's platform. For a platform of virtual devices
/// (CPU) the compiler owns a client with the target's number of devices, and its programs are
/// Executables, which can be run. For other platforms the compiler uses the plugin's topology
/// description of the target.
/// Throws DeviceError if the plugin is missing, belongs to another platform, cannot compile without
/// devices, or does not know the topology.
std::unique_ptr<Compiler> make_compiler(const Target& target);
std::unique_ptr<Compiler> make_compiler(const Target& target, const Plugin& plugin);

using TopologyDescription = PluginObject<pjrt::Topology, pjrt::TopologyDestroy>;

class TopologyCompiler final : public Compiler {
 public:
  TopologyCompiler(const Target& target, const Plugin& plugin);

  const Plugin& plugin() const override { return plugin_; }
  const Topology& topology() const override { return topology_; }
  LoweringTarget lowering_target() const override;
  std::unique_ptr<CompiledProgram> compile(const Program& program,
                                           const CompileOptions& options) override;

 private:
  std::unique_ptr<CompiledProgram> compile_lowered(const Program& program,
                                                   const CompileOptions& options) const;
  TopologyDescription describe() const;
  void read_topology();

  const Plugin& plugin_;
  std::string where_;  // begins every error message
  // Shared with the compiled programs, which may point into it.
  std::shared_ptr<const TopologyDescription> description_;
  Topology topology_;
};

/// Makes plugins that are loaded later write warnings (TF_CPP_MIN_LOG_LEVEL=1). A value that the
/// user has set stays.
void enable_plugin_warnings();

/// Returns the messages of the warnings and errors in `log`, which are lines of the form
/// "W1121 23:12:12.335242 2503 file.cc:3402] message". Each message is returned once; messages that
/// XLA writes for every program are left out.
std::vector<std::string> compiler_warnings(std::string_view log);

}  // namespace axle
