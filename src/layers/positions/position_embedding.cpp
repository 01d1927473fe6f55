#include "layers/positions/position_embedding.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "layers/mesh_axes.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"

namespace axle {

AXLE_REGISTER(PositionEmbedding::Dims)

template class LayerRole<PositionEmbedding, PositionEmbedding::Signature>;

int64_t LearnedPositions::num_positions(const Config& cfg, const Dims& dims) const {
  if (!dims.max_seq_len) {
    throw ConfigError(
        fmt::format("{}: expected a decoder with max_seq_len, got none; texts must not "
                    "become longer than the table of positions",
                    config_path()));
  }
  const int64_t longest = *dims.max_seq_len;
  if (cfg.num_positions && *cfg.num_positions < longest) {
    fail("num_positions", fmt::format("must be at least max_seq_len = {} of the decoder, got {}",
                                      longest, int64_t{*cfg.num_positions}));
  }
  return cfg.num_positions.value_or(longest);
}

LearnedPositions::LearnedPositions(const Config& cfg, const Dims& dims, const Scope& scope)
    : PositionEmbedding(scope),
      num_positions_(num_positions(cfg, dims)),
      weight_(param("weight", {.shape = {num_positions_, dims.model_dim},
                               .mesh_axes = {kReplicated, kShardAxes},
                               .init = cfg.init})) {}

Tensor LearnedPositions::forward(const Tensor& x_BTD, const std::optional<Tensor>& positions_BT) {
  const int64_t T = x_BTD.dim(1);
  if (T > num_positions_) {
    throw ShapeError(fmt::format("{}: expected at most num_positions = {} positions, got {}",
                                 config_path(), num_positions_, T));
  }
  const Tensor weight = weight_();
  return x_BTD + (positions_BT ? take(weight, *positions_BT) : slice_in_dim(weight, 0, 0, T));
}

AXLE_REGISTER(LearnedPositions)

Tensor sinusoids(const Tensor& positions, const Frequencies& frequencies, PairLayout layout) {
  const Tensor angles = angles_of(positions, frequencies);
  const Values pair{sin(angles), cos(angles)};
  if (layout == PairLayout::kHalves) return concatenate(pair, -1);
  return flatten(stack(pair, -1), -2);
}

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
