// Queries of x, keys and values of a tensor that another layer has published: cross attention and
// cross-layer attention.
#pragma once

#include "layers/attention/qkv/head_projection.h"
#include "layers/attention/qkv/qkv.h"

namespace axle {

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
