// Ops without operands: constants and iota.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/host_tensor.h"
#include "ir/tensor.h"
#include "ir/type.h"

namespace axle {

/// Returns a tensor whose elements are all `value`, rounded to the dtype if that is floating-point.
/// Throws ShapeError if an integer dtype cannot represent `value`.
Tensor full(const Shape& shape, Scalar value, DType dtype = DType::kF32);
Tensor zeros(const Shape& shape, DType dtype = DType::kF32);
Tensor ones(const Shape& shape, DType dtype = DType::kF32);
/// Returns zeros with the shape and dtype of `t`.
Tensor zeros_like(const Tensor& t);
Tensor full_like(const Tensor& t, Scalar value);
Tensor scalar(Scalar value, DType dtype = DType::kF32);
/// full() in the dtype of an operand of the op `op`, for numbers beside tensors. Errors name both
/// the op and this operand.
Tensor full_for(std::string_view op, const Tensor& operand, const Shape& shape, Scalar value);
/// Emits the binary op with a number in the type of the other operand, as full_for returns it.
Tensor emit_with_number(const OpRules& rules, const Tensor& a, Scalar b);
Tensor emit_with_number(const OpRules& rules, Scalar a, const Tensor& b);
/// The largest constant, 1 MiB.
inline constexpr size_t kMaxConstantBytes = size_t{1} << 20;
/// Returns `value` as a constant. Its data becomes part of the program: a table. Throws ShapeError
/// above kMaxConstantBytes; pass larger data as an argument.
Tensor constant(const HostTensor& value);
/// Returns the number that every element of `t` has if it is the result of full(), else none.
std::optional<Scalar> splat_of(const Tensor& t);
/// Counts 0, 1, 2, ... along dim `axis`; negative axes count from the end.
Tensor iota(const Shape& shape, int64_t axis, DType dtype = DType::kI32);

/// Whether linspace ends at its stop value or one step before.
enum class StopValue { kInclusive, kExclusive };
/// Returns `count` numbers in equal steps from `start` to `stop`. Throws ShapeError for dtypes that
/// are not floating-point.
Tensor linspace(double start, double stop, int64_t count, DType dtype = DType::kF32,
                StopValue last = StopValue::kInclusive);

/// Returns the axes {first, first + 1, ..., last - 1}. Requires first <= last.
inline std::vector<int64_t> axis_range(int64_t first, int64_t last) {
  std::vector<int64_t> out(static_cast<size_t>(last - first));
  std::iota(out.begin(), out.end(), first);
  return out;
}

/// Returns the dims of 0 .. rank-1 that are not in `dims` (ascending).
inline std::vector<int64_t> other_dims(int64_t rank, const std::vector<int64_t>& dims) {
  std::vector<int64_t> out;
  for (int64_t d = 0; d < rank; ++d) {
    if (!std::ranges::binary_search(dims, d)) out.push_back(d);
  }
  return out;
}
/// Returns the shape without `dims` (ascending).
inline Shape without_dims(const Shape& shape, const std::vector<int64_t>& dims) {
  Shape out;
  for (const int64_t d : other_dims(std::ssize(shape), dims)) out.push_back(shape[d]);
  return out;
}

/// Throws ShapeError "<op>: expected <what> of at least <least>, got <value>" if it is less.
void check_at_least(std::string_view op, std::string_view what, int64_t value, int64_t least,
                    const Values& operands = {});
/// Throws ShapeError "<op>: expected <what> of at least 0, got <sizes>" if one of them is negative.
void check_sizes(std::string_view op, std::string_view what, const Shape& sizes,
                 const Values& operands = {});

}  // namespace axle
