// Compiling for a target whose devices may be absent.
#pragma once

#include <memory>

#include "lower/trace_program.h"
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

}  // namespace axle
