#include "layers/feed_forward/feed_forward.h"

#include "base/error.h"
#include "config/register.h"
#include "layers/mesh_axes.h"
#include "ops/annotate.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"

namespace axle {
namespace {

Projection::Dims widening(int64_t model_dim, int64_t hidden_dim) {
  return {.input_dim = model_dim,
          .output_dim = hidden_dim,
          .input_axes = kModelDimAxes,
          .output_axes = kShardAxes};
}
Projection::Dims narrowing(int64_t hidden_dim, int64_t model_dim) {
  return {.input_dim = hidden_dim,
          .output_dim = model_dim,
          .input_axes = kShardAxes,
          .output_axes = kModelDimAxes};
}

}  // namespace

FeedForward::FeedForward(const Config& cfg, const Dims& dims, const Scope& scope)
    : Mixer(scope),
      hidden_dim_(hidden_dim(cfg, dims)),
      activation_(cfg.activation),
      gate_(child("gate", cfg.gate, widening(dims.model_dim, hidden_dim_))),
      up_(child("up", cfg.up, widening(dims.model_dim, hidden_dim_))),
      down_(child("down", cfg.down, narrowing(hidden_dim_, dims.model_dim))) {}

int64_t FeedForward::hidden_dim(const Config& cfg, const Dims& dims) const {
  try {
    return cfg.hidden_dim(dims.model_dim);
  } catch (const ConfigError& error) {
    fail("hidden_dim", error.what());
  }
}

Tensor FeedForward::forward(const Tensor& x_BTD, const MixerContext&) {
  Tensor hidden_BTF;
  if (gate_) {
    const Tensor gate_BTF = name((*gate_)(x_BTD), "gate");
    hidden_BTF = activation_(gate_BTF) * name(up_(x_BTD), "up");
  } else {
    hidden_BTF = activation_(name(up_(x_BTD), "up"));
  }
  hidden_BTF = name(constrain(hidden_BTF, kTokenPartsAxes), "hidden");
  add_summary("dead_units", fraction_of(hidden_BTF <= 0));
  return down_(hidden_BTF);
}

AXLE_REGISTER(FeedForward)

}  // namespace axle
