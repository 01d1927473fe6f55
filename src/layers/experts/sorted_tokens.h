// Tokens in the order of their experts, and their exchange between the devices of the experts.
#pragma once

#include "ir/devices/mesh.h"
#include "layers/experts/dispatch.h"

namespace axle {

/// Returns the sum over choices of weight * expert(x) of the tokens x_ND; experts_NK i32 and
/// weights_NK f32 are their choices. `experts` runs all num_experts experts.
Tensor run_sorted(const Tensor& x_ND, const Tensor& experts_NK, const Tensor& weights_NK,
                  const Experts& experts, int64_t num_experts);

/// The same inside of a shard_map, for the tokens of one device. The experts are divided over
/// `axes`, in order, and `experts` runs those of this device.
Tensor run_sorted_over(const DimAxes& axes, const Tensor& x_ND, const Tensor& experts_NK,
                       const Tensor& weights_NK, const Experts& experts, int64_t num_experts);

}  // namespace axle
