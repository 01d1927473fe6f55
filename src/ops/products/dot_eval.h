// Products of host tensors for the interpreter, with packed operands, on all cores.
#pragma once

#include "ir/host_tensor.h"
#include "ops/products/dot.h"

namespace axle {

/// Returns the dims of an operand of this rank that are neither contracting nor batch, ascending.
std::vector<int64_t> free_dims(int64_t rank, const std::vector<int64_t>& contracting,
                               const std::vector<int64_t>& batch);

/// Sets y = dot_general(a, b), in the dtype of y. Each element is summed in the order of the
/// contracting dims, independent of the number of threads. f32 operands are rounded as the
/// algorithm says; sums of floats are f32 whatever it says.
void eval_dot(const DotDims& dims, const HostTensor& a, const HostTensor& b, HostTensor& y,
              DotAlgorithm algorithm = DotAlgorithm::kDefault);

}  // namespace axle
