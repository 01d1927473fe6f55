// Statistics of activations that leave out padding.
#pragma once

#include <optional>

#include "ir/tensor.h"

namespace axle {

/// True for the vectors that count: bool[B, T, 1, ...] of rank `rank`, from segment_ids i32[B, T].
Tensor counted(const Tensor& segment_ids, int64_t rank);
/// Returns the mean over `axes`, which are kept with size 1. Vectors with the segment id 0 do not
/// count; the mean of nothing is 0. Shapes: x[B, T, ...], segment_ids i32[B, T] or none.
Tensor counted_mean(const Tensor& x, const std::vector<int64_t>& axes,
                    const std::optional<Tensor>& segment_ids);

struct Moments {
  Tensor mean, variance;
};
/// Returns mean and variance over `axes` as counted_mean does. The variance takes two passes.
Moments counted_moments(const Tensor& x, const std::vector<int64_t>& axes,
                        const std::optional<Tensor>& segment_ids);

}  // namespace axle
