// Norms of queries and keys below a position embedding, as in Qwen3 and Gemma 3.
//
// Source: Henry et al. 2020, arXiv 2010.04245, section 3; Yang et al. 2025, arXiv 2505.09388,
//   section 2.
#pragma once

#include "layers/attention/qkv/fused_qkv.h"
#include "layers/norms/norm.h"
#include "layers/norms/rms_norm.h"

namespace axle {

/// Normalises each query and each key of `inner` over the head dim.
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
    /// Computes the queries and keys to normalise.
    Child<QKV> inner = FusedQKV::Config{};
    AXLE_CONFIG(NormedQKV, query_norm, key_norm, inner)
  };
  NormedQKV(const Config& cfg, const Dims& dims, const Scope& scope)
      : WrappedQKV(cfg.inner, dims, scope),
        query_norm_(child("query_norm", cfg.query_norm, {.input_dim = dims.head_dim})),
        key_norm_(child("key_norm", cfg.key_norm, {.input_dim = dims.head_dim})) {}

 protected:
  QKVTensors forward(const Tensor& x_BTD, const std::optional<Tensor>& positions_BT) override;

 private:
  std::optional<Handle<Norm>> query_norm_, key_norm_;
};

}  // namespace axle
