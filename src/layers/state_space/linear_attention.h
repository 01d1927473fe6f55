// Attention whose state does not grow with the sequence.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   D model dim   N heads   H head dim
//
// Source: Katharopoulos et al. 2020, arXiv 2006.16236, section 3; chunks as in Dao & Gu 2024, arXiv
//   2405.21060, section 6.
#pragma once

#include "config/fields/required.h"
#include "layers/attention/qkv/fused_qkv.h"
#include "layers/attention/qkv/head_projection.h"
#include "layers/feed_forward/activation.h"
#include "layers/norms/norm.h"
#include "layers/state_space/feature_maps.h"
#include "layers/state_space/recurrent_mixer.h"

namespace axle {

/// y_t = sum over s <= t of (phi(q_t) phi(k_s)) v_s, divided by the sum of the weights if
/// `normalise` is set. A token sees earlier tokens of its own segment.
///
/// Shapes: x_BTD f32|bf16 -> y_BTD, dtype of x. The recurrence is f32.
/// Decode state: state [B, N, 1, H, H'] f32 with H' = H + 1 if `normalise` is set, and segment
/// i32[B].
/// Throws ConfigError at construction if head_dim is none and num_heads does not divide the model
/// dim.
class LinearAttention final : public RecurrentMixer {
 public:
  struct Config {
    /// Number of heads.
    Required<Positive<int64_t>> num_heads = REQUIRED;
    /// Size of one head; none: model dim / num_heads.
    std::optional<Positive<int64_t>> head_dim = {};
    /// Projects x to the heads of queries, keys and values.
    Child<QKV> qkv = FusedQKV::Config{};
    /// Feature map of queries and keys.
    Activation features = {"elu_plus_one", &elu_plus_one};
    /// True: the weights of a token sum to 1. The feature map must be positive.
    bool normalise = true;
    /// Norm of the result over the head dim; none: no norm.
    std::optional<Child<Norm>> head_norm = {};
    /// Projects the heads back to the model dim.
    Child<HeadOutput> output = HeadOutputLinear::Config{};
    /// Positions of one chunk of the recurrence.
    Positive<int64_t> chunk_size = 128;
    static constexpr auto kKeepsResults = std::to_array<std::string_view>({"chunk_size"});
    AXLE_CONFIG(LinearAttention, num_heads, head_dim, qkv, features, normalise, head_norm, output,
                chunk_size)
  };
  LinearAttention(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  StateDims state_dims() const override;
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;

 private:
  int64_t num_heads_, head_dim_, chunk_size_;
  Activation features_;
  bool normalise_;
  Handle<QKV> qkv_;
  std::optional<Handle<Norm>> head_norm_;
  Handle<HeadOutput> output_;
};

}  // namespace axle
