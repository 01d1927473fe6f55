// The definition of a kernel: what it computes, and its rules under transforms. Its implementations
// are rows of their own (kernel_implementation.h).
#pragma once

#include <string_view>
#include <vector>

#include "ir/op_rules.h"
#include "ops/kernels/kernel_attributes.h"

namespace axle {

/// A definition. Definitions are constants of static storage: calls refer to them.
struct Kernel {
  std::string_view name;
  /// Computes the kernel by ops. It is what every implementation must compute, and what runs where
  /// there is none. It uses no tensors but the operands.
  Values (*fallback)(const Values& operands, const KernelAttributes& attributes);
  /// The gradient, such as a call of another kernel. Null: the gradient of the fallback, which
  /// computes the fallback once more.
  VjpRule vjp = nullptr;
  /// The kernel of a whole batch. Null: a loop over the batch.
  BatchRule batch = nullptr;
  /// Which dims devices may divide, one character per dim: "bt.., ..h -> bth". A letter is a dim
  /// that may be divided, wherever it occurs; '.' is one that each device needs whole; a leading
  /// '*' stands for any number of dims that may be divided. Empty: none may be.
  std::string_view dims = {};
};

/// How the operands and the results of a kernel are divided over devices.
struct KernelPartition {
  std::vector<PartitionSpec> in_specs, out_specs;
};
/// Returns how a kernel runs over the axes of `mesh` if its operands are divided as `specs` ask,
/// as far as `dims` (Kernel::dims) and the sizes of the dims allow. Each operand names the axes
/// of its dims; the first operand that names some for a letter decides. Throws ShapeError if `dims`
/// does not fit the types.
KernelPartition partition_kernel(std::string_view dims, const std::vector<Type>& operands,
                                 const std::vector<Type>& results,
                                 const std::vector<PartitionSpec>& specs, const Mesh& mesh);

}  // namespace axle
