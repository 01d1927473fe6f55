#include "layers/norms/l2_norm.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/reductions/reduce.h"

namespace axle {

Tensor L2Norm::forward(const Tensor& x) {
  const Tensor wide = astype(x, wide_dtype(x.dtype()));
  return astype(wide * rsqrt(reduce_sum(wide * wide, {-1}, true) + eps_), x.dtype());
}

AXLE_REGISTER(L2Norm)

}  // namespace axle
