// Queries, keys and values of grouped-query attention, computed by one projection.
#pragma once

#include "layers/attention/qkv/head_projection.h"
#include "layers/attention/qkv/qkv.h"

namespace axle {

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
