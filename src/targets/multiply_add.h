// Loops of multiply-adds that stay in registers, one per instruction set.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/dtype.h"

namespace axle {

struct MultiplyAddLoop {
  const char* name;  // of the instruction set
  void (*run)(int64_t iterations);
  double flops_per_iteration;
};

/// Returns the loops that may be this processor's fastest for bf16, f32 or f64. For bf16 there may
/// be two, because bf16 instructions can be slower than f32 instructions.
std::vector<MultiplyAddLoop> multiply_add_loops(DType dtype);

}  // namespace axle
