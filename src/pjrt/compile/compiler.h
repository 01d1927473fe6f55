// Compiling for a target whose devices need not be here.
#pragma once

#include <memory>

#include "lower/program.h"
#include "pjrt/plugin/plugin.h"
#include "runtime/runtime.h"
#include "targets/target.h"

namespace axle {

/// The compiler of one target. Nothing is put onto devices, no argument is allocated.
class Compiler {
 public:
  explicit Compiler(Target target) : target_(std::move(target)) {}
  virtual ~Compiler() = default;
  const Target& target() const { return target_; }
  virtual const Plugin& plugin() const = 0;
  /// The target's devices, as the plugin describes them.
  virtual const Topology& topology() const = 0;
  /// A program whose mesh has at most the target's devices. Throws DeviceError with the compiler's
  /// message (exit codes kDoesNotFit, kDoesNotCompile), ConfigError naming an option that it
  /// refuses. `options.cache_dir` counts where the result is loaded at once: on CPU.
  virtual std::unique_ptr<CompiledProgram> compile(const Program& program,
                                                   const CompileOptions& options = {}) = 0;

 private:
  Target target_;
};

/// With the plugin of the target's platform. A platform of virtual devices (CPU) gets a client of
/// as many of them, whose programs can be run too (they are Executables); the others get the
/// plugin's description of the target. Throws DeviceError: no plugin, one of another platform, one
/// that can't compile without devices, a topology that it does not know.
std::unique_ptr<Compiler> make_compiler(const Target& target);
std::unique_ptr<Compiler> make_compiler(const Target& target, const Plugin& plugin);

}  // namespace axle
