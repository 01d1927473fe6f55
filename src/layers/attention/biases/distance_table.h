// Biases that follow from the distance of query and key alone.
//
// Letters in tensor names, for these files only:
//   D distances   N query heads   T queries   S keys   C copies for the devices that share rows
#pragma once

#include <functional>

#include "layers/attention/masks/attention_mask.h"

namespace axle {

/// A bias for each of D distances, from which those of queries and keys are taken.
class DistanceTable {
 public:
  /// `index_of` returns the row of the table for each distance, key position - query position.
  using IndexOf = std::function<Tensor(const Tensor& distance)>;
  DistanceTable(Tensor bias_DN, IndexOf index_of)
      : bias_DN_(std::move(bias_DN)), index_of_(std::move(index_of)) {}
  /// The same for several blocks of `num_rows` rows. Devices that share rows sum the gradient of
  /// the table. With a copy for each of them, every device adds up its own blocks first; the copies
  /// are summed once, after the last.
  DistanceTable with_copies_for(int64_t num_rows) const;
  /// Returns the bias of queries and keys at these places: f32[N, T, S] or [B, N, T, S].
  Tensor operator()(const TokenPlaces& places) const;

 private:
  Tensor at_consecutive(const TokenPlaces& places) const;

  Tensor bias_DN_;
  IndexOf index_of_;
  Tensor copies_DCN_ = {};
  int64_t num_rows_ = 0;
};

}  // namespace axle
