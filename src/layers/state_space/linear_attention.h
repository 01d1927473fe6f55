// Attention with a state instead of keys: linear attention and RAttention.
#pragma once

#include "config/fields.h"
#include "ir/tensor.h"
#include "layers/attention/attention.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/head_projection.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/norms/norm.h"
#include "layers/state_space/chunked_recurrence.h"

namespace axle {

// Feature maps of linear attention, by name: elu_plus_one, softmax_features, relu, ...
//
// Source: Katharopoulos et al. 2020, arXiv 2006.16236, section 3.3.

/// Returns elu(x) + 1, which is positive.
Tensor elu_plus_one(const Tensor& x);
/// Returns the softmax over the last dim.
Tensor softmax_features(const Tensor& x);

// Attention whose state does not grow with the sequence.
//
// Letters in tensor names from here on:
//   B batch   T positions   D model dim   N heads   H head dim
//
// Source: Katharopoulos et al. 2020, arXiv 2006.16236, section 3; chunks as in Dao & Gu 2024, arXiv
//   2405.21060, section 6.

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

// Sliding-window attention with a recurrent memory of what has left the window.
//
// Letters in tensor names from here on:
//   B batch   T positions   D model dim   N query heads   K key/value heads   H head dim   W window
//
// Source: Wang et al. 2025, arXiv 2506.15545, section 3.

/// y = output(local_norm(window attention) + memory_norm(linear attention to earlier tokens)).
/// Queries, keys and values are shared. A query sees itself and the W tokens before it by softmax,
/// the tokens before those by a linear recurrence over features; both only in its own segment.
///
/// Shapes: x_BTD f32|bf16 -> y_BTD, dtype of x. The recurrence is f32.
/// Decode state: state [B, N, 1, H, H] f32 and segment i32[B], beside the last W tokens, kept by
/// the cache of the window and for the recurrence.
/// Throws ConfigError at construction as Attention does.
class RAttention final : public RecurrentMixer {
 public:
  struct Config {
    /// Number of query heads.
    Required<Positive<int64_t>> num_heads = REQUIRED;
    /// Number of key/value heads; none: num_heads.
    std::optional<Positive<int64_t>> num_kv_heads = {};
    /// Size of one head; none: model dim / num_heads.
    std::optional<Positive<int64_t>> head_dim = {};
    /// W, the number of positions before its own that a query sees by softmax.
    Positive<int64_t> window = 512;
    /// Projects x to the heads of queries, keys and values.
    Child<QKV> qkv = FusedQKV::Config{};
    /// The attention inside the window.
    Child<AttentionCore> core = SoftmaxAttention::Config{};
    /// Feature map of queries and keys in the memory.
    Activation features = {"softmax_features", &softmax_features};
    /// Norm of the window's result over the head dim.
    Child<Norm> local_norm = RMSNorm::Config{};
    /// Norm of the memory's result over the head dim.
    Child<Norm> memory_norm = RMSNorm::Config{};
    /// Projects the heads back to the model dim.
    Child<HeadOutput> output = HeadOutputLinear::Config{};
    /// Positions of one chunk of the recurrence.
    Positive<int64_t> chunk_size = 128;
    static constexpr auto kKeepsResults = std::to_array<std::string_view>({"chunk_size"});
    AXLE_CONFIG(RAttention, num_heads, num_kv_heads, head_dim, window, qkv, core, features,
                local_norm, memory_norm, output, chunk_size)
  };
  RAttention(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  StateDims state_dims() const override;
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;

 private:
  // `goes_on`: the rows have tokens before this call's.
  Tensor local(const QKVTensors& heads, const MixerContext& context, bool goes_on);
  Tensor memory(const QKVTensors& heads, const MixerContext& context);

  HeadSizes sizes_;
  int64_t window_, chunk_size_;
  Activation features_;
  SlidingWindowMask mask_;
  Handle<QKV> qkv_;
  Handle<AttentionCore> core_;
  Handle<KVCache> kv_cache_;
  Handle<Lookback> left_keys_, left_values_;
  Handle<Norm> local_norm_, memory_norm_;
  Handle<HeadOutput> output_;
};

}  // namespace axle
