// Options for programs of tests, which run for a moment: their time goes into the code that LLVM
// writes. What XLA does before it, such as the partitioner, is the same. Tests of single ops are
// compiled as programs of users are.
#pragma once

#include "runtime/runtime.h"

namespace axle::testing {

/// Nothing for the interpreter, which has no options.
inline CompileOptions fast_compile(const Runtime& runtime) {
  if (runtime.topology().platform == "interpreter") return {};
  return {.overrides = {{"xla_backend_optimization_level", "0"},
                        {"xla_llvm_disable_expensive_passes", "true"}}};
}

}  // namespace axle::testing
