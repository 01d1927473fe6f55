// Mamba and Mamba 2: selective state spaces.
#pragma once

#include "config/fields.h"
#include "layers/dense/linear.h"
#include "layers/norms/norm.h"
#include "layers/state_space/chunked_recurrence.h"
#include "nn/init.h"

namespace axle {

/// The bound keeps the program small: each position of the filter is a product of its own.
using ConvWidth = Ranged<int64_t, Bounds{.min = 1, .max = 64}>;

/// y[b, t, c] = bias[c] + sum over k of weight[k, c] * x[b, t - (width - 1 - k), c]. Positions
/// before the row or in another segment count as zeros.
///
/// Shapes: x_BTC -> y_BTC, dtype of x; B batch, T positions, C channels.
/// Parameters: weight[width, C], and bias[C] if `bias` is set.
class ShortConv final
    : public LayerRole<ShortConv, Tensor(const Tensor& x_BTC, const MixerContext& context)> {
 public:
  /// The number of channels, given by the parent layer.
  struct Dims {
    /// Size of the last dim of x.
    Positive<int64_t> channels;
    AXLE_CONFIG(Dims, channels)
  };
  static constexpr InputNames kInputs = {"x", "context"};
  struct Config {
    /// Number of positions that a filter covers.
    ConvWidth width = 4;
    /// True: a bias is added.
    bool bias = true;
    AXLE_CONFIG(ShortConv, width, bias)
  };
  ShortConv(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x_BTC, const MixerContext& context) override;

 private:
  int64_t width_;
  Param weight_;
  std::optional<Param> bias_;
  Handle<Lookback> lookback_;
};

// Initial decays and step sizes of state-space models.
//
// Source: Gu & Dao 2023, arXiv 2312.00752, section 3.6; Dao & Gu 2024, arXiv 2405.21060.

/// Draws log(u) with u uniform in [low, high).
struct LogOfUniform {
  /// The least u.
  Positive<double> low = 1;
  /// The bound of u.
  Positive<double> high = 16;
  Initialiser operator()(const InitSpec& spec) const;
  AXLE_CONFIG(LogOfUniform, low, high)
};
/// Draws b so that softplus(b) is log-uniform in [low, high).
struct InverseSoftplusOfLogUniform {
  /// The least softplus(b).
  Positive<double> low = 1e-3;
  /// The bound of softplus(b).
  Positive<double> high = 1e-1;
  Initialiser operator()(const InitSpec& spec) const;
  AXLE_CONFIG(InverseSoftplusOfLogUniform, low, high)
};

// Mamba: a selective state-space model with a decay for each channel and state element.
//
// Letters in tensor names from here on:
//   B batch   T positions   Q positions of a chunk   D model dim   F inner dim   N state dim
//
// Source: Gu & Dao 2023, arXiv 2312.00752, section 3.

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
/// Parameters, beside the children's: decay[F, N], skip[F], step_bias[F]. Weight decay
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

// Mamba-2: a selective state-space model with a scalar decay for each head.
//
// Letters in tensor names from here on:
//   B batch   T positions   D model dim   F inner dim   H heads   G groups   N state dim
//   P head dim = F / H
//
// Source: Dao & Gu 2024, arXiv 2405.21060, sections 6 and 7.

/// For each head: h_t = exp(dt_t A) h_{t-1} + dt_t b_t x_t^T, y_t = c_t^T h_t + D x_t, with
/// x, b, c = silu(conv(projections)), dt = softplus(projection + bias) and A = -exp(decay). Then
/// result = output(norm(y * silu(gate))).
///
/// Shapes: x_BTD f32|bf16 -> y_BTD, dtype of x. The recurrence is f32.
/// Parameters, beside the children's: decay[H], skip[H] (D above) and step_bias[H]. Weight
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
