// Rotary position embeddings.
//
// Source: Su et al. 2021, arXiv 2104.09864, section 3.2.2; neighbouring elements form the pairs.
#pragma once

#include "layers/attention/qkv/fused_qkv.h"

namespace axle {

/// Rotates each pair (2i, 2i + 1) of queries and keys by the angle
/// position * theta^(-2i / head_dim).
///
/// Angles are f32 whatever the dtype of x. Throws ConfigError at construction if head_dim is odd.
class RoPE final : public WrappedQKV {
 public:
  struct Config {
    /// Base of the wavelengths, which grow from 2 pi to almost 2 pi theta positions.
    Positive<double> theta = 1e4;
    /// Computes the queries and keys to rotate.
    Child<QKV> inner = FusedQKV::Config{};
    AXLE_CONFIG(RoPE, theta, inner)
  };
  RoPE(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  QKVTensors forward(const Tensor& x_BTD, const std::optional<Tensor>& positions_BT) override;

 private:
  int64_t head_dim_;
  double theta_;
};

}  // namespace axle
