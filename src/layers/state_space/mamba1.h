// Mamba: a selective state-space model with a decay for each channel and state element.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   Q positions of a chunk   D model dim   F inner dim   N state dim
//
// Source: Gu & Dao 2023, arXiv 2312.00752, section 3.
#pragma once

#include "config/fields/ranged.h"
#include "layers/dense/linear.h"
#include "layers/state_space/short_conv.h"
#include "layers/state_space/step_init.h"

namespace axle {

/// Draws log(1), log(2), ..., log(N) along the last dim (S4D-Real).
struct LogOfCount {
  Initialiser operator()(const InitSpec& spec) const;
  AXLE_CONFIG(LogOfCount)
};

/// For each channel f and state element n: h_t = exp(dt_t A) h_{t-1} + dt_t b_t x_t and
/// y_t = sum over n of c_t h_t + skip x_t, with x = silu(conv(input)), A = -exp(decay), and b, c
/// and the step dt computed from x. Then result = output(y * silu(gate)). The recurrence is an
/// associative scan inside of chunks.
///
/// Shapes: x_BTD f32|bf16 -> y_BTD, dtype of x. The recurrence is f32.
/// Parameters, beside those of the children: decay[F, N], skip[F], step_bias[F]. Weight decay
/// leaves them out, as that of the authors does. Decode state: state [B, F, N] f32 and segment
/// i32[B], beside that of the convolution.
class Mamba1 final : public Mixer {
 public:
  struct Config {
    /// Inner dim / model dim.
    Positive<int64_t> expand = 2;
    /// Size of the state of each channel.
    Positive<int64_t> state_dim = 16;
    /// Positions of one chunk: an associative scan inside a chunk, a loop from chunk to chunk.
    Positive<int64_t> chunk_size = 64;
    /// Rank of the projection to step sizes; none: model dim / 16, rounded up.
    std::optional<Positive<int64_t>> step_rank = {};
    /// Projects x to the gate.
    Child<Projection> gate = Linear::Config{.bias = false};
    /// Projects x to the input of the convolution.
    Child<Projection> input = Linear::Config{.bias = false};
    /// The convolution along the sequence.
    Child<ShortConv> conv = ShortConv::Config{};
    /// Projects the convolved input to the step's rank, then b and c.
    Child<Projection> select = Linear::Config{.bias = false};
    /// Projects the step's rank to all channels.
    Child<Projection> step = Linear::Config{.bias = false};
    /// Initial decay[F, N]; A = -exp(decay).
    Init decay_init = LogOfCount{};
    /// Initial step_bias[F].
    Init step_bias_init = InverseSoftplusOfLogUniform{};
    /// Projects the result back to the model dim.
    Child<Projection> output = Linear::Config{.bias = false};
    static constexpr auto kKeepsResults = std::to_array<std::string_view>({"chunk_size"});
    AXLE_CONFIG(Mamba1, expand, state_dim, chunk_size, step_rank, gate, input, conv, select, step,
                decay_init, step_bias_init, output)
  };
  Mamba1(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override;

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;

 private:
  // Returns the sum over n of c_t h_t.
  Tensor recur(const Tensor& step_BTF, const Tensor& x_BTF, const Tensor& b_BTN,
               const Tensor& c_BTN, const TokenStream& tokens);

  int64_t inner_dim_, state_dim_, chunk_size_, step_rank_;
  Param decay_, skip_, step_bias_;
  Handle<Projection> gate_, input_;
  Handle<ShortConv> conv_;
  Handle<Projection> select_, step_, output_;
};

}  // namespace axle
