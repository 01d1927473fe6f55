// A mask given by a function of positions.
#pragma once

#include <memory>
#include <mutex>

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
  /// Follows from the ranges of the positions of the block. Where these leave it open, evaluates
  /// the function for all of them.
  Sight sight(const PlaceBlock& block) const override;

 private:
  Sight sight_by_ranges(const PlaceBlock& block) const;
  Sight sight_by_values(const PlaceBlock& block) const;

  Fn<Tensor(const Tensor&, const Tensor&)> sees_;
  bool causal_;
  // The mask of one query and one key, traced for the first sight.
  mutable std::once_flag is_traced_;
  mutable std::shared_ptr<const Region> traced_;
};

}  // namespace axle
