// Projections around another one: norms of heads, queries alone, keys and values of another
// sequence.
#pragma once

#include "layers/attention/qkv/head_projection.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/qkv_projections.h"
#include "layers/norms/norm.h"

namespace axle {

// Norms of queries and keys below a position embedding, as in Qwen3, Gemma 3 and OLMo 2.
//
// Source: Henry et al. 2020, arXiv 2010.04245, section 3; Yang et al. 2025, arXiv 2505.09388,
//   section 2. Over all heads: OLMo Team 2024, arXiv 2501.00656, section 3.3.

/// What a norm of queries or keys takes for one vector: a head, or all heads of a position.
enum class NormOver { kHead, kAllHeads };
constexpr auto texts_of(NormOver) {
  return std::to_array<EnumText<NormOver>>(
      {{NormOver::kHead, "head"}, {NormOver::kAllHeads, "all_heads"}});
}

/// Normalises each query and each key of `inner`.
///
/// Inside of RoPE the norms come before the rotation; Attention::query_norm and key_norm come after
/// it. They differ if the norm scales elements by learned factors.
class NormedQKV final : public WrappedQKV {
 public:
  struct Config {
    /// Normalises each query; none: no norm.
    std::optional<Child<Norm>> query_norm = RMSNorm::Config{};
    /// Normalises each key; none: no norm.
    std::optional<Child<Norm>> key_norm = RMSNorm::Config{};
    /// head: a norm has the parameters of one head, for all of them. all_heads: it has parameters
    /// for all queries, or all keys, of a position.
    NormOver over = NormOver::kHead;
    /// Computes the queries and keys to normalise.
    Child<QKV> inner = FusedQKV::Config{};
    AXLE_CONFIG(NormedQKV, query_norm, key_norm, over, inner)
  };
  NormedQKV(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  QKVTensors forward(const Tensor& x_BTD, const std::optional<Tensor>& positions_BT) override;

 private:
  Tensor normed(Handle<Norm>& norm, const Tensor& x_BTNH, int64_t num_heads) const;

  NormOver over_;
  int64_t num_heads_, num_kv_heads_;
  std::optional<Handle<Norm>> query_norm_, key_norm_;
};

/// q = q_proj(x); keys and values are empty. The attention's cache borrows them from another layer
/// (BorrowedKVCache).
class QueryOnly final : public QKV {
 public:
  struct Config {
    /// Projects x to the query heads.
    Child<HeadInput> q_proj = HeadInputLinear::Config{};
    AXLE_CONFIG(QueryOnly, q_proj)
  };
  QueryOnly(const Config& cfg, const Dims& dims, const Scope& scope)
      : QKV(scope),
        q_proj_(child("q_proj", cfg.q_proj,
                      {.model_dim = dims.model_dim,
                       .num_heads = dims.num_heads,
                       .head_dim = dims.head_dim})) {}
  bool can_decode() const override { return true; }
  bool makes_keys() const override { return false; }

 protected:
  QKVTensors forward(const Tensor& x_BTD, const std::optional<Tensor>&) override {
    return {.q_BTNH = q_proj_(x_BTD)};
  }

 private:
  Handle<HeadInput> q_proj_;
};

// Queries of x, keys and values of a tensor that another layer has published: cross attention and
// cross-layer attention.

/// q = q_proj(x), k = k_proj(source), v = v_proj(value source).
///
/// The source [B, S, source_dim] is published under a name (Layer::publish, the block Published, or
/// the caller of the model). If "<source>/segments", i32[B, S], is published too, queries see keys
/// of their own segment.
/// Throws ConfigError in a call if nothing is published under the name.
class SourceQKV final : public QKV {
 public:
  struct Config {
    /// Name of the tensor from which keys are computed.
    std::string source = "source";
    /// Name of the tensor from which values are computed; none: `source`.
    std::optional<std::string> value_source = {};
    /// Size of the last dim of the source; none: the model dim.
    std::optional<Positive<int64_t>> source_dim = {};
    /// True: the source holds the same tokens as x, computed by another layer. Their keys and
    /// values are cached while decoding, and masks apply to their positions.
    bool same_tokens = false;
    /// Projects x to the query heads.
    Child<HeadInput> q_proj = HeadInputLinear::Config{};
    /// Projects the source to the key heads.
    Child<HeadInput> k_proj = HeadInputLinear::Config{};
    /// Projects the source of values to the value heads.
    Child<HeadInput> v_proj = HeadInputLinear::Config{};
    AXLE_CONFIG(SourceQKV, source, value_source, source_dim, same_tokens, q_proj, k_proj, v_proj)
  };
  SourceQKV(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }
  bool has_source() const override { return !same_tokens_; }

 protected:
  QKVTensors forward(const Tensor& x_BTD, const std::optional<Tensor>&) override;

 private:
  std::string source_, value_source_;
  bool same_tokens_;
  Handle<HeadInput> q_proj_, k_proj_, v_proj_;
};

}  // namespace axle
