// Mamba-2: a selective state-space model with a scalar decay for each head.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   D model dim   F inner dim   H heads   G groups   N state dim
//   P head dim = F / H
//
// Source: Dao & Gu 2024, arXiv 2405.21060, sections 6 and 7.
#pragma once

#include "config/fields/ranged.h"
#include "layers/dense/linear.h"
#include "layers/dense/projection.h"
#include "layers/norms/rms_norm.h"
#include "layers/state_space/recurrent_mixer.h"
#include "layers/state_space/short_conv.h"
#include "layers/state_space/step_init.h"

namespace axle {

/// For each head: h_t = exp(dt_t A) h_{t-1} + dt_t b_t x_t^T, y_t = c_t^T h_t + D x_t, with
/// x, b, c = silu(conv(projections)), dt = softplus(projection + bias) and A = -exp(decay). Then
/// result = output(norm(y * silu(gate))).
///
/// Shapes: x_BTD f32|bf16 -> y_BTD, dtype of x. The recurrence is f32.
/// Parameters, beside those of the children: decay[H], skip[H] (D above) and step_bias[H]. Weight
/// decay leaves them out, as that of the authors does.
/// Decode state: state [B, G, H / G, N, P] f32 and segment i32[B], beside that of the convolution.
/// Throws ConfigError at construction if head_dim does not divide the inner dim, or num_groups the
/// number of heads.
class Mamba2 final : public RecurrentMixer {
 public:
  struct Config {
    /// Inner dim / model dim.
    Positive<int64_t> expand = 2;
    /// Size of one head.
    Positive<int64_t> head_dim = 64;
    /// Size of the state for each element of a head.
    Positive<int64_t> state_dim = 128;
    /// Groups of heads that share b and c.
    Positive<int64_t> num_groups = 1;
    /// Positions of one chunk of the recurrence.
    Positive<int64_t> chunk_size = 256;
    /// Projects x to the gate.
    Child<Projection> gate = Linear::Config{.bias = false};
    /// Projects x to the inputs of the convolution: x, b and c.
    Child<Projection> input = Linear::Config{.bias = false};
    /// Projects x to the step size of each head.
    Child<Projection> step = Linear::Config{.bias = false};
    /// The convolution of x, b and c along the sequence.
    Child<ShortConv> conv = ShortConv::Config{};
    /// Initial decay[H]; A = -exp(decay).
    Init decay_init = LogOfUniform{};
    /// Initial step_bias[H].
    Init step_bias_init = InverseSoftplusOfLogUniform{};
    /// Norm of the gated result.
    Child<Norm> norm = RMSNorm::Config{};
    /// Projects the result back to the model dim.
    Child<Projection> output = Linear::Config{.bias = false};
    static constexpr auto kKeepsResults = std::to_array<std::string_view>({"chunk_size"});
    AXLE_CONFIG(Mamba2, expand, head_dim, state_dim, num_groups, chunk_size, gate, input, step,
                conv, decay_init, step_bias_init, norm, output)
  };
  Mamba2(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  StateDims state_dims() const override;
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;

 private:
  struct Sizes {
    int64_t inner_dim, num_heads, num_groups, head_dim, state_dim;
    int64_t conv_dim = 0;  // channels of the convolution: x, b and c
  };
  Sizes sizes(const Config& cfg, const Dims& dims) const;

  Sizes sizes_;
  int64_t chunk_size_;
  Param decay_, skip_, step_bias_;
  Handle<Projection> gate_, input_, step_;
  Handle<ShortConv> conv_;
  Handle<Norm> norm_;
  Handle<Projection> output_;
};

}  // namespace axle
