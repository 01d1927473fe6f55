// Queries, keys and values, computed by three projections.
#pragma once

#include "layers/attention/qkv/head_projection.h"
#include "layers/attention/qkv/qkv.h"

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

}  // namespace axle
