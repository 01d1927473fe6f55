// Queries, keys and values of plain multi-head attention, computed by one product.
#pragma once

#include "layers/attention/qkv/qkv.h"
#include "layers/products/plain_product.h"

namespace axle {

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

}  // namespace axle
