#include "ops/movement/diagonal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "ops/checks.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/broadcast.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/reductions/reduce.h"
#include "ops/rules.h"

namespace axle {
namespace {

void check_matrix(std::string_view op, const Tensor& x) {
  if (x.rank() < 2) shape_error(op, "expected two dims or more", {x});
}

Tensor below_or_on(const Tensor& x, int64_t offset) {
  return broadcast_to(tri(x.dim(-2), x.dim(-1), offset, DType::kPred), x.shape());
}

}  // namespace

Tensor eye(int64_t rows, int64_t columns, int64_t offset, DType dtype) {
  const Shape shape = {rows, columns};
  check_sizes("eye", "numbers of rows and columns", shape);
  return astype(equal(iota(shape, 0) + offset, iota(shape, 1)), dtype);
}

Tensor tri(int64_t rows, int64_t columns, int64_t offset, DType dtype) {
  const Shape shape = {rows, columns};
  check_sizes("tri", "numbers of rows and columns", shape);
  return astype(iota(shape, 0) + offset >= iota(shape, 1), dtype);
}

Tensor tril(const Tensor& x, int64_t offset) {
  check_matrix("tril", x);
  return select(below_or_on(x, offset), x, 0);
}

Tensor triu(const Tensor& x, int64_t offset) {
  check_matrix("triu", x);
  return select(below_or_on(x, offset - 1), 0, x);
}

// In row-major order the elements of a diagonal are one row and one element apart.
Tensor diagonal(const Tensor& x, int64_t offset) {
  check_matrix("diagonal", x);
  const int64_t rows = x.dim(-2), columns = x.dim(-1), step = columns + 1;
  const int64_t n = std::clamp<int64_t>(offset < 0 ? rows + offset : columns - offset, 0,
                                        std::min(rows, columns));
  const int64_t start = n == 0 ? 0 : std::max<int64_t>(offset, -offset * columns);
  const int64_t limit = n == 0 ? 0 : start + (n - 1) * step + 1;
  return slice_in_dim(flatten(x, -2, -1), -1, start, limit, step);
}

Tensor diagonal_matrix(const Tensor& x, int64_t offset) {
  const int64_t n = x.dim(normalized_axis("diagonal_matrix", x, -1));
  const bool is_near = offset >= -kMaxElements && offset <= kMaxElements;
  const int64_t size = n + (is_near ? std::abs(offset) : kMaxElements);
  Shape shape = x.shape();
  shape.back() = size;
  shape.push_back(size);
  if (!is_near || !is_countable(shape)) {
    shape_error("diagonal_matrix",
                fmt::format("expected a matrix of at most {} elements, got the offset {}",
                            kMaxElements, offset),
                {x});
  }
  if (n == 0) return zeros(shape, x.dtype());
  const int64_t start = std::max<int64_t>(offset, -offset * size);
  Shape low(x.shape().size(), 0), high = low, interior = low;
  low.back() = start;
  interior.back() = size;
  high.back() = size * size - start - ((n - 1) * (size + 1) + 1);
  return reshape(pad(x, 0, low, high, interior), shape);
}

Tensor matrix_trace(const Tensor& x, int64_t offset) {
  return reduce_sum(diagonal(x, offset), {-1});
}

}  // namespace axle
