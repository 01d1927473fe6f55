// Norms of queries and keys below a position embedding, as in Qwen3, Gemma 3 and OLMo 2.
//
// Source: Henry et al. 2020, arXiv 2010.04245, section 3; Yang et al. 2025, arXiv 2505.09388,
//   section 2. Over all heads: OLMo Team 2024, arXiv 2501.00656, section 3.3.
#pragma once

#include "layers/attention/qkv/fused_qkv.h"
#include "layers/norms/norm.h"
#include "layers/norms/rms_norm.h"

namespace axle {

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
    /// head: a norm has the parameters of one head, for all of them. all_heads: it has those of all
    /// queries, or of all keys, of a position.
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

}  // namespace axle
