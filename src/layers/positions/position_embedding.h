// The role PositionEmbedding: adds a vector for its position to each embedded token.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   D model dim
#pragma once

#include "config/fields/ranged.h"
#include "nn/layer.h"

namespace axle {

/// A number of positions. The bound is that of i32, the dtype of positions.
using NumPositions = Ranged<int64_t, Bounds{.min = 1, .max = 2147483647}>;

/// x_BTD -> x_BTD plus the vectors of its positions, dtype of x. Positions are i32[B, T]; none
/// means 0, 1, ... in each row.
class PositionEmbedding
    : public LayerRole<PositionEmbedding,
                       Tensor(const Tensor& x_BTD, const std::optional<Tensor>& positions_BT)> {
 public:
  /// The sizes of the sequence, given by the decoder.
  struct Dims {
    /// Size of a vector.
    Positive<int64_t> model_dim;
    /// Longest sequence; none: not known.
    std::optional<NumPositions> max_seq_len;
    AXLE_CONFIG(Dims, model_dim, max_seq_len)
  };
  static constexpr InputNames kInputs = {"x", "positions"};
  static constexpr bool kKeepsType = true;
  using LayerRole::LayerRole;
  /// A vector depends on its position alone.
  bool can_decode() const override { return true; }
};

extern template class LayerRole<PositionEmbedding, PositionEmbedding::Signature>;

}  // namespace axle
