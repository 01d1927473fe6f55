#include "ops/reductions/quantile.h"

#include <limits>

#include "ops/create.h"
#include "ops/dims.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/rounding.h"
#include "ops/movement/broadcast.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/movement/sort.h"
#include "ops/reductions/reduce.h"
#include "ops/rules.h"

namespace axle {

Tensor quantile(const Tensor& x, const Tensor& q, int64_t axis, QuantileMethod method,
                bool keep_dims) {
  axis = normalized_axis("quantile", x, axis);
  const int64_t n = x.dim(axis);
  if (!is_float(x.dtype()) || !is_float(q.dtype()) || q.rank() > 1 || n == 0) {
    shape_error("quantile", "expected floats that are not empty and a scalar or vector of floats",
                {x, q});
  }
  const DType wide = wide_dtype(x.dtype());
  const Tensor has_nan = reduce_or(is_nan(x), {axis}, true);
  const Tensor sorted =
      move_axis(sort(select(has_nan, std::numeric_limits<double>::quiet_NaN(), x), axis), axis, 0);

  const Tensor fraction = astype(q, wide);
  const Tensor position =
      method == QuantileMethod::kInvertedCdf ? ceil(fraction * n) - 1 : fraction * (n - 1);
  const Tensor below = floor(position);
  const auto element = [&](const Tensor& at) {
    return take(sorted, astype(clamp(0, at, n - 1), DType::kI32));
  };
  const Tensor lower = element(below), higher = element(ceil(position));
  const Tensor weight = broadcast_in_dim(position - below, lower.shape(), axis_range(0, q.rank()));

  Tensor y;
  switch (method) {
    case QuantileMethod::kLinear:
      y = astype(lower, wide) * (1 - weight) + astype(higher, wide) * weight;
      break;
    case QuantileMethod::kLower:
    case QuantileMethod::kInvertedCdf:
      y = lower;
      break;
    case QuantileMethod::kHigher:
      y = higher;
      break;
    case QuantileMethod::kMidpoint:
      y = (lower + higher) * 0.5;
      break;
    case QuantileMethod::kNearest:
      y = select(weight <= 0.5, lower, higher);
      break;
  }
  y = astype(y, x.dtype());
  return keep_dims ? expand_dims(y, q.rank() + axis) : y;
}

Tensor quantile(const Tensor& x, double q, int64_t axis, QuantileMethod method, bool keep_dims) {
  const DType dtype = is_float(x.dtype()) ? wide_dtype(x.dtype()) : DType::kF32;
  return quantile(x, scalar(q, dtype), axis, method, keep_dims);
}

Tensor percentile(const Tensor& x, const Tensor& q, int64_t axis, QuantileMethod method,
                  bool keep_dims) {
  return quantile(x, q / 100, axis, method, keep_dims);
}

Tensor median(const Tensor& x, int64_t axis, bool keep_dims) {
  return quantile(x, 0.5, axis, QuantileMethod::kMidpoint, keep_dims);
}

}  // namespace axle
