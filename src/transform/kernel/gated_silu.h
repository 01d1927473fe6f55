// The gate of SwiGLU as one kernel.
#pragma once

#include "transform/kernel/kernel_call.h"

namespace axle {

/// Returns silu(gate) * x, elementwise, in one pass over memory.
///
/// Shapes: gate and x [...] of the same float dtype -> the same. Where an implementation runs,
/// numbers of 16 bits are computed in f32 and rounded once. The backward pass keeps gate and x.
/// `options.specs` divides the operands (KernelOptions).
/// Throws ShapeError if the types differ.
///
/// Source: Shazeer 2020, arXiv 2002.05202, section 2.
Tensor gated_silu(const Tensor& gate, const Tensor& x, const KernelOptions& options = {});

}  // namespace axle
