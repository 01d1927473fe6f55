#include "ops/movement/approx_max_k.h"

#include <fmt/format.h>

#include "ops/movement/shape.h"
#include "ops/movement/sort.h"
#include "ops/rules.h"

namespace axle {

std::pair<Tensor, Tensor> approx_max_k(const Tensor& x, int64_t k, int64_t axis,
                                       const ApproxMaxKOptions& options) {
  constexpr std::string_view kOp = "approx_max_k";
  if (!is_float(x.dtype())) {
    shape_error(kOp, fmt::format("expected a floating-point operand, got {}", name_of(x.dtype())),
                {x});
  }
  axis = normalized_axis(kOp, x, axis);
  const int64_t size = x.dim(axis);
  if (k < 1 || k > size) {
    shape_error(kOp,
                fmt::format("expected k from 1 to {}, the size of axis {}, got {}", size, axis, k),
                {x});
  }
  // Not the negation: a NaN is refused too.
  if (!(options.recall_target > 0 && options.recall_target <= 1)) {
    shape_error(
        kOp,
        fmt::format("expected recall_target above 0 and at most 1, got {}", options.recall_target),
        {x});
  }
  if (options.reduction_input_size_override.value_or(size) < size) {
    shape_error(kOp,
                fmt::format("expected reduction_input_size_override of at least {}, the size of "
                            "axis {}, got {}",
                            size, axis, *options.reduction_input_size_override),
                {x});
  }
  const auto [values, indices] = top_k(move_axis(x, axis, -1), k);
  return {move_axis(values, -1, axis), move_axis(indices, -1, axis)};
}

}  // namespace axle
