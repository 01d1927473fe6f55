// Masks that see only near positions.
#pragma once

#include "config/fields/ranged.h"
#include "layers/attention/masks/attention_mask.h"

namespace axle {

/// A query sees its own position and the `window` positions before it.
class SlidingWindowMask final : public AttentionMask {
 public:
  struct Config {
    /// Number of positions before its own that a query sees.
    NonNegative<int64_t> window = 4096;
    AXLE_CONFIG(SlidingWindowMask, window)
  };
  SlidingWindowMask(const Config& cfg, const Dims&, const Scope&) : window_(cfg.window) {}
  Tensor operator()(const TokenPlaces& at) const override;
  bool is_causal() const override { return true; }
  Sight sight(const PlaceBlock& block) const override {
    return sight_at_distances(block, 0, window_);
  }
  bool sees_itself() const override { return true; }
  int64_t window() const { return window_; }

 private:
  int64_t window_;
};

/// A query sees its own position, the `before` positions before it and the `after` positions after
/// it.
class TwoSidedWindowMask final : public AttentionMask {
 public:
  struct Config {
    /// Number of positions before its own that a query sees.
    NonNegative<int64_t> before = 128;
    /// Number of positions after its own that a query sees.
    NonNegative<int64_t> after = 128;
    AXLE_CONFIG(TwoSidedWindowMask, before, after)
  };
  TwoSidedWindowMask(const Config& cfg, const Dims&, const Scope&)
      : before_(cfg.before), after_(cfg.after) {}
  Tensor operator()(const TokenPlaces& at) const override;
  bool is_causal() const override { return after_ == 0; }
  Sight sight(const PlaceBlock& block) const override {
    return sight_at_distances(block, -after_, before_);
  }
  bool sees_itself() const override { return true; }
  int64_t before() const { return before_; }
  int64_t after() const { return after_; }

 private:
  int64_t before_, after_;
};

}  // namespace axle
