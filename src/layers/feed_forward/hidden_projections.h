// The sizes of the projections to and from a hidden layer.
#pragma once

#include "layers/dense/projection.h"
#include "layers/mesh_axes.h"
#include "layers/width.h"

namespace axle {

/// The dims of a projection from the model dim to a hidden dim.
inline Projection::Dims widening(int64_t model_dim, int64_t hidden_dim) {
  return {.input_dim = model_dim,
          .output_dim = hidden_dim,
          .input_axes = kModelDimAxes,
          .output_axes = kShardAxes};
}
/// The dims of a projection from a hidden dim to the model dim.
inline Projection::Dims narrowing(int64_t hidden_dim, int64_t model_dim) {
  return {.input_dim = hidden_dim,
          .output_dim = model_dim,
          .input_axes = kShardAxes,
          .output_axes = kModelDimAxes};
}

}  // namespace axle
