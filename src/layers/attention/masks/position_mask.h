// A mask given by a function of positions.
#pragma once

#include "config/fields/fn.h"
#include "config/fields/required.h"
#include "layers/attention/masks/attention_mask.h"

namespace axle {

/// A query sees the keys for which a function of both positions is true. The function is registered
/// by name (AXLE_REGISTER), so that recipes can print it.
class PositionMask final : public AttentionMask {
 public:
  struct Config {
    /// Maps query positions [.., T, 1] and key positions [.., 1, S], i32, to a predicate.
    Required<Fn<Tensor(const Tensor& query_positions, const Tensor& key_positions)>> sees =
        REQUIRED;
    /// True: the function never lets a query see a later key.
    bool causal = false;
    AXLE_CONFIG(PositionMask, sees, causal)
  };
  PositionMask(const Config& cfg, const Dims&, const Scope&)
      : sees_(*cfg.sees), causal_(cfg.causal) {}
  Tensor operator()(const TokenPlaces& at) const override;
  bool is_causal() const override { return causal_; }
  /// Evaluates the function for the positions of the block.
  Sight sight(const PlaceBlock& block) const override;

 private:
  Fn<Tensor(const Tensor&, const Tensor&)> sees_;
  bool causal_;
};

}  // namespace axle
