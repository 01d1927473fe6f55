// The role LogitBias: what is added to the logits of attention.
//
// Letters in tensor names, for this file only:
//   B batch   T queries   S keys   N query heads
#pragma once

#include <functional>

#include "layers/attention/masks/attention_mask.h"
#include "nn/layer.h"

namespace axle {

/// places -> bias f32 [N, T, S] or [B, N, T, S].
class LogitBias : public LayerRole<LogitBias, Tensor(const TokenPlaces& places)> {
 public:
  /// The sizes of the bias, given by attention.
  struct Dims {
    /// Number of query heads.
    Positive<int64_t> num_heads;
    AXLE_CONFIG(Dims, num_heads)
  };
  static constexpr InputNames kInputs = {"places"};
  using LayerRole::LayerRole;
  /// Biases look at the positions that they are given.
  bool can_decode() const override { return true; }
  /// True if the bias of a block of queries and keys follows from their places alone: it neither
  /// draws random numbers nor adds losses, and looks at no other place. False: attention by blocks
  /// computes it for all places at once.
  virtual bool is_computed_by_blocks() const { return false; }
  /// The bias of a block as a function of its places.
  using OfBlock = std::function<Tensor(const TokenPlaces& places)>;
  /// Returns the bias of each of several blocks, which all have `num_rows` rows. It is called once
  /// for all of them. Needs is_computed_by_blocks().
  OfBlock of_blocks(int64_t num_rows);

 protected:
  /// Computes what blocks have in common, and returns the rest. It need not look at the options of
  /// the slot: where they ask for statistics or remat, each block is computed as a call does, which
  /// is the default.
  virtual OfBlock after_common_part(int64_t num_rows);
  friend LayerRole;
  void check_result(const Tensor& bias, const TokenPlaces& places) const;
};

extern template class LayerRole<LogitBias, LogitBias::Signature>;

}  // namespace axle
