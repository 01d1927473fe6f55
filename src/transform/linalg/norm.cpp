#include "transform/linalg/norm.h"

#include <cmath>

#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/elementwise/rounding.h"
#include "ops/movement/slice.h"
#include "ops/reductions/reduce.h"
#include "ops/rules.h"
#include "transform/linalg/eigh.h"
#include "transform/linalg/matrices.h"

namespace axle {
namespace {

// Roots have no derivative at 0; these have derivative 0 there. NaN stays NaN.
template <class F>
Tensor at_positive(const Tensor& x, F fn) {
  const Tensor is_zero = x <= 0;
  return select(is_zero, 0, fn(select(is_zero, 1, x)));
}
Tensor root(const Tensor& x) {
  return at_positive(x, [](const Tensor& positive) { return sqrt(positive); });
}

Tensor squared_magnitude(const Tensor& x) {
  return is_complex(x.dtype()) ? square(real(x)) + square(imag(x)) : square(x);
}

}  // namespace

Tensor vector_norm(const Tensor& x, const std::vector<int64_t>& axes, double p, bool keep_dims) {
  if (!is_differentiable(x.dtype()))
    shape_error("vector_norm", "expected floating-point or complex numbers", {x});
  if (std::isnan(p)) shape_error("vector_norm", "expected a number p, got nan", {x});
  const auto sum_of = [&](const Tensor& each) { return reduce_sum(each, axes, keep_dims); };
  if (p == 2) return root(sum_of(squared_magnitude(x)));
  if (p == 0) return sum_of(astype(not_equal(x, 0), real_dtype(x.dtype())));
  const Tensor size = abs(x);
  if (p == 1) return sum_of(size);
  if (std::isinf(p)) {
    if (p < 0) return reduce_min(size, axes, keep_dims);
    // The largest of no elements is -infinity.
    return maximum(reduce_max(size, axes, keep_dims), 0);
  }
  const auto power = [](double n) {
    return [n](const Tensor& positive) { return pow(positive, full_like(positive, n)); };
  };
  if (p > 0) return at_positive(sum_of(at_positive(size, power(p))), power(1 / p));
  // 0 to a negative power is infinite, and infinity to one 0.
  return power(1 / p)(sum_of(power(p)(size)));
}

Tensor matrix_norm(const Tensor& x, MatrixNorm norm) {
  if (x.rank() < 2 || !is_float(x.dtype()))
    shape_error("matrix_norm", "expected matrices of floating-point numbers", {x});
  switch (norm) {
    case MatrixNorm::kFrobenius:
      return root(reduce_sum(square(x), {-2, -1}));
    case MatrixNorm::kOne:
      return reduce_max(reduce_sum(abs(x), {-2}), {-1});
    case MatrixNorm::kInfinity:
      return reduce_max(reduce_sum(abs(x), {-1}), {-1});
    case MatrixNorm::kTwo:
      break;
  }
  // The smaller of the two matrices of squared singular values.
  const bool is_tall = x.dim(-2) >= x.dim(-1);
  const Tensor squared = is_tall ? matmul(transposed(x), x) : matmul(x, transposed(x));
  return root(index_in_dim(eigh(squared).first, -1, -1));
}

}  // namespace axle
