// The feed-forward part of a transformer layer: two projections around an activation, with an
// optional gate.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   D model dim   F hidden dim
//
// Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.3;
//   Shazeer 2020, arXiv 2002.05202 (gated).
#pragma once

#include "config/fields.h"
#include "layers/dense/linear.h"
#include "layers/mesh_axes.h"
#include "layers/mixer.h"
#include "layers/width.h"
#include "ops/annotate.h"
#include "ops/elementwise/elementwise.h"

namespace axle {

// Activation functions that configs can name:
//   Activation activation = {"silu", &silu};
//
// Names: silu, gelu (tanh approximation), exact_gelu, quick_gelu, relu, squared_relu, sigmoid,
// tanh, linear.

using Activation = Fn<Tensor(const Tensor&)>;

/// Returns x.
Tensor linear(const Tensor& x);

/// Computes the input of `down` in a feed-forward layer, laid out over `axes`:
/// activation(gate(x)) * up(x), without a gate activation(up(x)). `project(p, x)` calls the
/// projection p: of one layer, or of each expert.
///
/// Remat names: "gate" and "up", the two projections; "hidden", the result.
template <class Part, class Project>
Tensor hidden_units(const Tensor& x, const Activation& activation, const std::optional<Part>& gate,
                    const Part& up, const PartitionSpec& axes, const Project& project) {
  Tensor hidden;
  if (gate) {
    const Tensor gated = name(project(*gate, x), "gate");
    hidden = activation(gated) * name(project(up, x), "up");
  } else {
    hidden = activation(name(project(up, x), "up"));
  }
  return name(sharding_constraint(hidden, axes), "hidden");
}

/// Mixes the channels of each position, without residual or norm. With a gate:
/// x -> down(activation(gate(x)) * up(x)). Without a gate: x -> down(activation(up(x))).
///
/// Shapes: x_BTD f32|bf16 -> y_BTD, dtype of x.
/// Remat names: those of hidden_units().
/// Summaries: "dead_units", the share of hidden values that are <= 0 (scalar, f32).
class FeedForward final : public Mixer {
 public:
  struct Config {
    /// Width of the hidden layer, as a function of the model dim.
    DimFn hidden_dim = ScaledDim{.scale = 4};
    /// Activation of the gate, or of `up` if there is no gate.
    Activation activation = {"silu", &silu};
    /// Projects to the gate, which multiplies the result of `up`; none: no gate.
    std::optional<Child<Projection>> gate = {};
    /// Projects the model dim to the hidden dim.
    Child<Projection> up = Linear::Config{.bias = false};
    /// Projects the hidden dim back to the model dim.
    Child<Projection> down = Linear::Config{.bias = false};
    AXLE_CONFIG(FeedForward, hidden_dim, activation, gate, up, down)
  };
  FeedForward(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext&) override;

 private:
  int64_t hidden_dim_;
  Activation activation_;
  std::optional<Handle<Projection>> gate_;
  Handle<Projection> up_;
  Handle<Projection> down_;
};

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
