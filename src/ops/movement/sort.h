// Sorting and top-k. For sorts, -0 equals 0 and NaN counts as the largest value.
#pragma once

#include <utility>

#include "ir/tensor.h"

namespace axle {

enum class SortOrder { kAscending, kDescending };

/// Sorts along `axis`. All sorts of this file are stable: equal elements keep their order.
Tensor sort(const Tensor& x, int64_t axis = -1, SortOrder order = SortOrder::kAscending);
/// Sorts tensors of one shape together. The first `num_keys` operands are the keys, most
/// significant first. Costs num_keys * elements * log2(length of the axis) comparisons, each
/// counted as one floating-point operation.
Values sort_key_val(const Values& operands, int64_t axis = -1, int64_t num_keys = 1,
                    SortOrder order = SortOrder::kAscending);
/// Returns the indices (i32) that sort x along `axis`.
Tensor argsort(const Tensor& x, int64_t axis = -1, SortOrder order = SortOrder::kAscending);
/// Returns the k largest elements along the last dim, descending, and their indices (i32). Equal
/// elements keep their order. Floats have their total order (total_order.h), as in XLA: 0 is larger
/// than -0, and a NaN with a sign bit is the least of all.
std::pair<Tensor, Tensor> top_k(const Tensor& x, int64_t k);

}  // namespace axle
