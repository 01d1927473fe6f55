// Sorting and the k largest. -0 equals 0; NaN counts as the largest value.
#pragma once

#include <utility>

#include "ir/tensor.h"

namespace axle {

enum class SortOrder { kAscending, kDescending };

/// Equal elements keep their order, here and below.
Tensor sort(const Tensor& x, int64_t axis = -1, SortOrder order = SortOrder::kAscending);
/// Sorts tensors of one shape together: the first `num_keys` decide, an earlier one before a later
/// one.
Values sort_key_val(const Values& operands, int64_t axis = -1, int64_t num_keys = 1,
                    SortOrder order = SortOrder::kAscending);
/// Where the elements of the sorted tensor come from, i32.
Tensor argsort(const Tensor& x, int64_t axis = -1, SortOrder order = SortOrder::kAscending);
/// The k largest along the last dim, descending, and their indices (i32); of equal ones the first
/// come first.
std::pair<Tensor, Tensor> top_k(const Tensor& x, int64_t k);

}  // namespace axle
