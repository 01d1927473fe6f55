// Queries, keys and values of plain multi-head attention by one product.
#pragma once

#include "layers/attention/qkv.h"

namespace axle {

/// One weight for three projections of equal shape.
///
/// Throws ConfigError at construction if num_kv_heads differs from num_heads.
/// Parameters: weight[3, D, N, H], bias[3, N, H] if asked for; each third is initialised as a
/// projection of its own.
class FusedQKV final : public QKV {
 public:
  struct Config {
    /// Whether queries, keys and values have one.
    bool bias = false;
    AXLE_CONFIG(FusedQKV, bias)
  };
  FusedQKV(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }
  Tree<Tensor> initialize(const Tensor& key) const override;

 protected:
  QKVTensors forward(const Tensor& x_BTD, const std::optional<Tensor>&) override;

 private:
  Param weight_;
  std::optional<Param> bias_;
};

}  // namespace axle
