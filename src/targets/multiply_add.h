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

/// Those for bf16, f32 or f64 that may be this processor's fastest: bf16 instructions can be slower
/// than f32's.
std::vector<MultiplyAddLoop> multiply_add_loops(DType dtype);

}  // namespace axle
