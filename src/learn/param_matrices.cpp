#include "learn/param_matrices.h"

#include <algorithm>

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/exponential.h"
#include "ops/movement/shape.h"
#include "ops/reductions/reduce.h"

namespace axle {
namespace {

// Counts a dim from the front. Returns none for a dim that the parameter lacks.
std::optional<int64_t> from_front(int64_t dim, const ParamSpec& spec) {
  const auto rank = static_cast<int64_t>(spec.shape.size());
  const int64_t out = dim < 0 ? dim + rank : dim;
  return out >= 0 && out < rank ? std::optional(out) : std::nullopt;
}

bool is_batch(int64_t dim, const ParamSpec& spec) {
  return std::ranges::any_of(spec.fan.batch, [&](int64_t b) { return from_front(b, spec) == dim; });
}

std::optional<int64_t> last_of(const std::vector<int64_t>& dims, const ParamSpec& spec) {
  if (dims.empty()) return std::nullopt;
  const std::optional<int64_t> last = from_front(dims.back(), spec);
  return last && !is_batch(*last, spec) ? last : std::nullopt;
}

}  // namespace

std::optional<MatrixDims> matrix_dims(const ParamSpec& spec) {
  const auto row = last_of(spec.fan.in, spec), column = last_of(spec.fan.out, spec);
  if (!row || !column || *row == *column) return std::nullopt;
  return MatrixDims{*row, *column};
}

Tensor to_matrices(const Tensor& x, const MatrixDims& dims) {
  const int64_t column = dims.column - (dims.row < dims.column ? 1 : 0);
  return move_axis(move_axis(x, dims.row, -1), column, -1);
}

Tensor from_matrices(const Tensor& matrices, const MatrixDims& dims) {
  const int64_t column = dims.column - (dims.row < dims.column ? 1 : 0);
  return move_axis(move_axis(matrices, -1, column), -1, dims.row);
}

std::vector<int64_t> block_axes(const ParamSpec& spec) {
  std::vector<int64_t> out;
  for (int64_t dim = 0; dim < static_cast<int64_t>(spec.shape.size()); ++dim) {
    if (!is_batch(dim, spec)) out.push_back(dim);
  }
  return out;
}

Tensor block_rms(const Tensor& x, const ParamSpec& spec) {
  return sqrt(mean(square(x), block_axes(spec), /*keep_dims=*/true));
}
Tensor block_norm(const Tensor& x, const ParamSpec& spec) {
  return sqrt(reduce_sum(square(x), block_axes(spec), /*keep_dims=*/true));
}

}  // namespace axle
