// What programs are lowered for when a plugin compiles them.
#pragma once

#include <functional>
#include <string>

#include "lower/program.h"
#include "pjrt/plugin/plugin.h"

namespace axle {

/// Compiles a program and drops the result. Throws what the compiler says.
using TryCompile = std::function<void(const Program& program)>;

/// Returns what programs for the devices of a topology are lowered for. `compile` compiles for
/// them. Whether the compiler has an op is found by compiling a small program over all devices,
/// once per process and topology.
LoweringTarget lowering_target(const Plugin& plugin, const Topology& topology, TryCompile compile);

/// Writes a warning to standard error for each op of the program that is not lowered to its best
/// form, once per process for equal ones.
void report_fallbacks(const Program& program);

}  // namespace axle
