// The gradient of an embedding's lookup, as devices that have other tokens sum it.
#pragma once

#include "ir/mesh.h"
#include "ir/tensor.h"

namespace axle {

/// The gradient [V, D] of weight_VD, in which ids_BT were looked up, for the gradient g_BTD of the
/// vectors found. Each device sums over its own tokens in f32, as the gradient of gather does, and
/// between devices in the weight's dtype, as the gradient of the head does: compilers make one sum
/// between devices of both. Where axes of `partition`, the weight's, divide tokens too, these are
/// summed first, so that each device receives its own part of the weight alone.
Tensor lookup_gradient(const Tensor& weight_VD, const Tensor& ids_BT, const Tensor& g_BTD,
                       const PartitionSpec& partition, const Mesh& mesh);

}  // namespace axle
