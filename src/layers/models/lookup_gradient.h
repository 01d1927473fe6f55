// The gradient of an embedding lookup whose tokens are sharded over devices.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   V vocabulary   D model dim
#pragma once

#include "ir/devices/mesh.h"
#include "ir/tensor.h"

namespace axle {

/// Returns the gradient [V, D] of weight_VD for a lookup of ids_BT, where g_BTD is the cotangent of
/// the embedded tokens. `partition` is the layout of the weight.
///
/// Each device sums over its own tokens in f32, like the gradient of gather. Devices then sum their
/// results in the weight's dtype, like the gradient of the head: compilers merge both sums into one
/// collective. Mesh axes that shard both the tokens and the weight are summed first, so that each
/// device receives only its own shard of the gradient.
Tensor lookup_gradient(const Tensor& weight_VD, const Tensor& ids_BT, const Tensor& g_BTD,
                       const PartitionSpec& partition, const Mesh& mesh);

}  // namespace axle
