#include "layers/positions/sinusoidal_positions.h"

#include <fmt/format.h>

#include "config/register.h"
#include "layers/positions/sinusoids.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"

namespace axle {

SinusoidalPositions::SinusoidalPositions(const Config& cfg, const Dims& dims, const Scope& scope)
    : PositionEmbedding(scope), pairs_(cfg.pairs) {
  const int64_t dim = dims.model_dim;
  if (dim % 2 != 0) fail("model_dim", fmt::format("must be even, got {}", dim));
  frequencies_ = checked_frequencies(cfg.frequencies, {.theta = cfg.theta, .dim = dim},
                                     config_path() + ".frequencies");
}

Tensor SinusoidalPositions::forward(const Tensor& x_BTD,
                                    const std::optional<Tensor>& positions_BT) {
  const Tensor positions = positions_BT ? *positions_BT : iota({x_BTD.dim(1)}, 0);
  return x_BTD +
         astype(frequencies_.scale * sinusoids(positions, frequencies_, pairs_), x_BTD.dtype());
}

AXLE_REGISTER(SinusoidalPositions)

}  // namespace axle
