// Products of host tensors for the interpreter: packed, in registers, on two threads.
#pragma once

#include "ir/host_tensor.h"
#include "ops/products/dot.h"

namespace axle {

/// The dims of an operand of this rank that are in neither list, in order.
std::vector<int64_t> free_dims(int64_t rank, const std::vector<int64_t>& contracting,
                               const std::vector<int64_t>& batch);

/// y = dot_general(a, b), in the type that y has. Each element is summed in the order of the
/// contracted dims, whatever the number of threads.
void eval_dot(const DotDims& dims, const HostTensor& a, const HostTensor& b, HostTensor& y);

}  // namespace axle
