// Hand-written kernels, and the gate of SwiGLU as one.
#pragma once

#include "ops/kernels/kernel.h"
#include "transform/trace.h"

namespace axle {

// Calls of kernels: hand-written implementations for some platforms, with a fallback by ops that is
// their oracle and runs everywhere else. docs/kernels.md tells how to add one.

struct KernelOptions {
  /// How each operand is divided over the mesh of the program, as in a sharding constraint. Needed
  /// where the partitioner divides the work: there an implementation runs in a manual region over
  /// the parts that Kernel::dims allows. Inside of a shard_map over all axes, nothing is needed.
  std::vector<PartitionSpec> specs = {};
};

/// Computes a kernel. Lowering chooses the implementation for the platform of the target. If none
/// takes the call, the fallback runs and the program records the reason (Program::choices). The
/// interpreter always runs the fallback.
///
/// Its gradient and its batching rule are those of the kernel. Without them, the gradient is that
/// of the fallback, and a vmap is a loop over the batch. Throws ShapeError as the fallback does.
Values kernel_call(const Kernel& kernel, const Values& operands, KernelAttributes attributes = {},
                   KernelOptions options = {});

/// Batching rule of kernels that take any number of leading dims, the same in all operands: each
/// operand gets the batch dim in front.
std::vector<Batched> batch_in_front(BatchX x);

/// For rules of a kernel: the options of the call.
const KernelOptions& kernel_options(const OpNode& op);

// The gate of SwiGLU as one kernel.

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
