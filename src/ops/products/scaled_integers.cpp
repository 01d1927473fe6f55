#include "ops/products/scaled_integers.h"

#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"

namespace axle {

ScaledIntegers to_integers(const Tensor& x, const std::vector<int64_t>& axes) {
  constexpr double kLargest = 127;
  const Tensor wide = astype(x, wide_dtype(x.dtype()));
  const Tensor largest = reduce_max(abs(wide), axes, true);
  const Tensor scale = select(largest > 0, largest / kLargest, 1);
  return {astype(round_nearest_even(wide / scale), x.dtype()), scale};
}

}  // namespace axle
