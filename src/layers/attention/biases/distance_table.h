// Biases that follow from the distance of query and key alone.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// A bias for each of D distances and N heads, from which those of queries and keys are taken.
class DistanceTable {
 public:
  explicit DistanceTable(Tensor bias_DN) : bias_DN_(std::move(bias_DN)) {}
  /// The same for several blocks of `num_rows` rows. Devices that share rows sum the gradient of
  /// the table. With a copy for each of them, every device adds up its own blocks first; the copies
  /// are summed once, after the last.
  static DistanceTable of_blocks(const Tensor& bias_DN, int64_t num_rows);
  /// Returns the bias of the distances with these numbers, i32[T, S] or [B, T, S]: f32[N, T, S] or
  /// [B, N, T, S].
  Tensor operator()(const Tensor& number) const;

 private:
  Tensor bias_DN_;
  Tensor copies_DCN_ = {};
  int64_t num_rows_ = 0;
};

}  // namespace axle
