// Ops that leave values as they are and tell the system something about them.
#pragma once

#include <string>
#include <string_view>

#include "ir/mesh.h"
#include "ir/tensor.h"

namespace axle {

/// x, under a name that remat policies can refer to. Name the value that is used later, not a copy
/// beside it.
Tensor name(const Tensor& x, std::string_view tag);
/// The tag of a `name` op; empty for every other op.
std::string_view tag_of(const OpNode& op);
/// x, seen as a constant by differentiation.
Tensor stop_gradient(const Tensor& x);
/// The same values; the compiler moves or merges no op across. Gradients pass without a barrier.
Values optimization_barrier(const Values& values);
/// Where a device keeps a value.
enum class Memory {
  kDevice,
  kHost,  // pinned memory of the device's host; a target without it keeps the value on the device
};
/// x, moved there; the gradient stays where it is.
Tensor place(const Tensor& x, Memory memory);
/// x, laid over the mesh as `spec` says, and so its gradient; dims that the spec does not reach are
/// replicated. Throws ShapeError if the spec has more dims than x.
Tensor sharding_constraint(const Tensor& x, const PartitionSpec& spec);
/// The spec of a `sharding_constraint` op; nullptr for every other op.
const PartitionSpec* constraint_of(const OpNode& op);

}  // namespace axle
