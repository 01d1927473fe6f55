// The role QKV, which maps the input of attention to queries, keys and values: projections of one
// input or two, and wrappers that change the result of another one.
#pragma once

#include <optional>
#include <string>

#include "layers/attention/qkv/head_projection.h"
#include "layers/norms/norm.h"
#include "layers/products/product.h"
#include "nn/layer.h"

namespace axle {

// Letters in tensor names, for this file only:
//   B batch         T positions of queries   S positions of keys
//   D model dim     N query heads            K key/value heads     H head dim

struct QKVTensors {
  /// Keys and values are empty tensors if another layer computes them (BorrowedKVCache).
  Tensor q_BTNH = {}, k_BSKH = {}, v_BSKH = {};
  /// i32[B, S]: segment ids of keys that belong to a source (QKV::has_source).
  std::optional<Tensor> source_segments_BS = {};

  template <class F>
  void each_field(F&& fn) {
    fn("query", q_BTNH);
    fn("key", k_BSKH);
    fn("value", v_BSKH);
    fn("source_segments", source_segments_BS);
  }
};

/// x_BTD -> q_BTNH, k_BSKH, v_BSKH, dtype of x. S = T, unless the keys belong to a source.
///
/// Positions are i32[B, T]; none means 0, 1, ... in each row. Each head of keys and values may be
/// repeated for the devices that share it (num_head_copies), but not while decoding.
class QKV : public LayerRole<QKV, QKVTensors(const Tensor& x_BTD,
                                             const std::optional<Tensor>& positions_BT)> {
 public:
  /// The sizes of the projections, given by attention.
  struct Dims {
    /// Size of the last dim of x.
    Positive<int64_t> model_dim;
    /// Number of query heads.
    Positive<int64_t> num_heads;
    /// Number of key/value heads.
    Positive<int64_t> num_kv_heads;
    /// Size of one head.
    Positive<int64_t> head_dim;
    AXLE_CONFIG(Dims, model_dim, num_heads, num_kv_heads, head_dim)
  };
  static constexpr InputNames kInputs = {"x", "positions"};
  static constexpr InputVectors kVectors = {&Dims::model_dim, 3};
  using LayerRole::LayerRole;
  /// True if keys and values belong to another sequence than x (cross attention). The whole source
  /// is given in every call, so that no cache keeps it.
  virtual bool has_source() const { return false; }
  /// False if keys and values are empty, for a cache that has another layer's.
  virtual bool makes_keys() const { return true; }

 protected:
  friend LayerRole;
  void check_result(const QKVTensors& heads, const Tensor& x_BTD,
                    const std::optional<Tensor>&) const;
};

/// A QKV that changes the queries or keys of another one.
class WrappedQKV : public QKV {
 public:
  bool can_decode() const override { return true; }
  bool has_source() const override { return inner_->has_source(); }
  bool makes_keys() const override { return inner_->makes_keys(); }

 protected:
  WrappedQKV(const Child<QKV>& inner, const Dims& dims, const Scope& scope)
      : QKV(scope), inner_(child("inner", inner, dims)) {}
  Handle<QKV> inner_;
};

extern template class LayerRole<QKV, QKV::Signature>;

// Projections to queries, keys and values: three, one fused, or one fused by group.

/// q = q_proj(x), k = k_proj(x), v = v_proj(x).
class SeparateQKV final : public QKV {
 public:
  struct Config {
    /// Projects x to the query heads.
    Child<HeadInput> q_proj = HeadInputLinear::Config{};
    /// Projects x to the key heads.
    Child<HeadInput> k_proj = HeadInputLinear::Config{};
    /// Projects x to the value heads.
    Child<HeadInput> v_proj = HeadInputLinear::Config{};
    AXLE_CONFIG(SeparateQKV, q_proj, k_proj, v_proj)
  };
  SeparateQKV(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  QKVTensors forward(const Tensor& x_BTD, const std::optional<Tensor>&) override;

 private:
  Handle<HeadInput> q_proj_, k_proj_, v_proj_;
};

/// Three projections of equal shape with one stacked weight.
///
/// Throws ConfigError at construction if num_kv_heads differs from num_heads.
/// Parameters: weight[3, D, N, H], and bias[3, N, H] if `bias` is set. Each third is initialised
/// like a separate projection.
class FusedQKV final : public QKV {
 public:
  struct Config {
    /// True: a bias is added to queries, keys and values.
    bool bias = false;
    /// Multiplies x by the weight.
    Child<Product> product = PlainProduct::Config{};
    AXLE_CONFIG(FusedQKV, bias, product)
  };
  FusedQKV(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }
  Tree<Tensor> initialize(const random::Key& key) const override;

 protected:
  QKVTensors forward(const Tensor& x_BTD, const std::optional<Tensor>&) override;

 private:
  Param weight_;
  std::optional<Param> bias_;
  Handle<Product> product_;
};

/// One projection to num_heads + 2 * num_kv_heads heads: queries first, then keys, then values.
class FusedGroupedQKV final : public QKV {
 public:
  struct Config {
    /// Projects x to the heads of queries, keys and values.
    Child<HeadInput> proj = HeadInputLinear::Config{};
    AXLE_CONFIG(FusedGroupedQKV, proj)
  };
  FusedGroupedQKV(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  QKVTensors forward(const Tensor& x_BTD, const std::optional<Tensor>&) override;

 private:
  int64_t num_heads_, num_kv_heads_;
  Handle<HeadInput> proj_;
};

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

// Other sources of queries and keys: queries alone, keys and values of another sequence.

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
