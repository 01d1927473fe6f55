// The role AttentionMask: decides by position which keys a query may see.
#pragma once

#include "config/axle_config.h"
#include "config/fields/child.h"
#include "config/fields/ranged.h"
#include "ir/tensor.h"

namespace axle {

/// Maps query positions i32[.., T, 1] and key positions i32[.., 1, S] to a predicate [.., T, S]
/// that is true where the query sees the key.
class AttentionMask {
 public:
  using Role = AttentionMask;
  struct Dims {};
  virtual ~AttentionMask() = default;
  virtual Tensor operator()(const Tensor& query_positions, const Tensor& key_positions) const = 0;
  /// True if no query sees a key after its own position. Attention with a mask that is not causal
  /// cannot decode, since the caches hold no later keys.
  virtual bool is_causal() const { return false; }
};

/// A query sees its own position and earlier ones.
class CausalMask final : public AttentionMask {
 public:
  struct Config {
    AXLE_CONFIG(CausalMask)
  };
  CausalMask(const Config&, const Dims&, const Scope&) {}
  Tensor operator()(const Tensor& query_positions, const Tensor& key_positions) const override;
  bool is_causal() const override { return true; }
};

/// A query sees its own position and the `window` positions before it.
class SlidingWindowMask final : public AttentionMask {
 public:
  struct Config {
    /// Number of positions before its own that a query sees.
    NonNegative<int64_t> window = 4096;
    AXLE_CONFIG(SlidingWindowMask, window)
  };
  SlidingWindowMask(const Config& cfg, const Dims&, const Scope&) : window_(cfg.window) {}
  Tensor operator()(const Tensor& query_positions, const Tensor& key_positions) const override;
  bool is_causal() const override { return true; }

 private:
  int64_t window_;
};

}  // namespace axle
