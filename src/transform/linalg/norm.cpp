#include "transform/linalg/norm.h"

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exponential.h"
#include "ops/elementwise/rounding.h"
#include "ops/movement/slice.h"
#include "ops/reductions/reduce.h"
#include "ops/rules.h"
#include "transform/linalg/eigh.h"
#include "transform/linalg/matrices.h"

namespace axle {
namespace {

// The root has no derivative at 0; this one has derivative 0 there.
Tensor root(const Tensor& x) {
  const Tensor is_positive = x > 0;
  return select(is_positive, sqrt(select(is_positive, x, 1)), 0);
}

}  // namespace

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
