// Queries alone, for attention to keys and values of another layer.
#pragma once

#include "layers/attention/qkv/head_projection.h"
#include "layers/attention/qkv/qkv.h"

namespace axle {

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

}  // namespace axle
