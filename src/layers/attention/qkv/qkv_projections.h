// Projections to queries, keys and values: three, one fused, or one fused by group.
#pragma once

#include "layers/attention/qkv/head_projection.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/products/product.h"

namespace axle {

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

}  // namespace axle
