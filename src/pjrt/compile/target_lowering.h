// The lowering target of a plugin: for what programs are lowered before it compiles them.
#pragma once

#include <functional>
#include <string>

#include "lower/stablehlo.h"
#include "pjrt/plugin/plugin.h"

namespace axle {

/// Compiles a program and drops the result. Throws DeviceError with the compiler's
/// message.
using TryCompile = std::function<void(const Program& program)>;

/// Returns the lowering target for the devices of a topology, for which `compile` compiles. To find
/// whether the compiler has an op, it compiles a small program over all devices, once per process
/// and topology.
LoweringTarget lowering_target(const Plugin& plugin, const Topology& topology, TryCompile compile);

/// Writes a warning to standard error for each op of the program that is not lowered to its best
/// form, once per process for equal ones.
void report_fallbacks(const Program& program);

/// Returns compile(program). A program that depends on its target is lowered for `target()` first,
/// and its fallbacks are reported.
template <class TargetOf, class Compile>
auto compile_for(const Program& program, TargetOf&& target, Compile&& compile) {
  if (!program.depends_on_target) return compile(program);
  const Program lowered = lowered_for(program, target());
  report_fallbacks(lowered);
  return compile(lowered);
}

}  // namespace axle
