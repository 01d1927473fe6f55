// The mask of packed rows.
#pragma once

#include "layers/attention/masks/attention_mask.h"

namespace axle {

/// A query sees the keys of its own segment, and none if that is 0 (padding). Attention applies
/// this to every call that has segment ids; as a part of AnyOf it must be named.
class SegmentMask final : public AttentionMask {
 public:
  struct Config {
    AXLE_CONFIG(SegmentMask)
  };
  SegmentMask(const Config&, const Dims&, const Scope&) {}
  Tensor operator()(const TokenPlaces& at) const override;
  bool can_decode() const override { return true; }
};

}  // namespace axle
