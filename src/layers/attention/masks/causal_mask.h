// The mask of autoregressive models.
#pragma once

#include "layers/attention/masks/attention_mask.h"

namespace axle {

/// A query sees its own position and earlier ones.
class CausalMask final : public AttentionMask {
 public:
  struct Config {
    AXLE_CONFIG(CausalMask)
  };
  CausalMask(const Config&, const Dims&, const Scope&) {}
  Tensor operator()(const TokenPlaces& at) const override;
  bool is_causal() const override { return true; }
  Sight sight(const PlaceBlock& block) const override {
    return sight_at_distances(block, 0, block.largest_distance());
  }
  bool sees_itself() const override { return true; }
};

}  // namespace axle
