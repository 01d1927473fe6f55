#include "layers/feed_forward/feed_forward.h"

#include "config/register.h"
#include "nn/statistic.h"
#include "ops/elementwise/elementwise.h"

namespace axle {

Tensor linear(const Tensor& x) { return x; }

AXLE_REGISTER(silu, "silu")
AXLE_REGISTER(gelu, "gelu")
AXLE_REGISTER(exact_gelu, "exact_gelu")
AXLE_REGISTER(quick_gelu, "quick_gelu")
AXLE_REGISTER(relu, "relu")
AXLE_REGISTER(squared_relu, "squared_relu")
AXLE_REGISTER(sigmoid, "sigmoid")
AXLE_REGISTER(tanh, "tanh")
AXLE_REGISTER(linear, "linear")

FeedForward::FeedForward(const Config& cfg, const Dims& dims, const Scope& scope)
    : Mixer(scope),
      hidden_dim_(width_of(cfg.hidden_dim, dims.model_dim, config_path(), "hidden_dim")),
      activation_(cfg.activation),
      gate_(child("gate", cfg.gate, widening(dims.model_dim, hidden_dim_))),
      up_(child("up", cfg.up, widening(dims.model_dim, hidden_dim_))),
      down_(child("down", cfg.down, narrowing(hidden_dim_, dims.model_dim))) {}

Tensor FeedForward::forward(const Tensor& x_BTD, const MixerContext&) {
  const Tensor hidden_BTF =
      hidden_units(x_BTD, activation_, gate_, up_, kTokenPartsAxes,
                   [](const auto& projection, const Tensor& x) { return projection(x); });
  add_summary("dead_units", mean_of_tokens(astype(hidden_BTF <= 0, DType::kF32)));
  return down_(hidden_BTF);
}

AXLE_REGISTER(FeedForward)

}  // namespace axle
