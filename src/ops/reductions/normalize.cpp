#include "ops/reductions/normalize.h"

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/reductions/reduce.h"

namespace axle {

Tensor standardize(const Tensor& x, const std::vector<int64_t>& axes, double epsilon) {
  const Tensor wide = astype(x, wide_dtype(x.dtype()));
  const Tensor centered = wide - mean(wide, axes, true);
  return astype(centered * rsqrt(mean(square(centered), axes, true) + epsilon), x.dtype());
}

Tensor l2_normalize(const Tensor& x, const std::vector<int64_t>& axes, double epsilon) {
  const Tensor wide = astype(x, wide_dtype(x.dtype()));
  const Tensor norm2 = reduce_sum(square(wide), axes, true);
  return astype(wide * rsqrt(maximum(norm2, epsilon)), x.dtype());
}

}  // namespace axle
