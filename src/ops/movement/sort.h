// Sorting and top-k. For sorts, -0 equals 0 and NaN counts as the largest value.
#pragma once

#include <cstdint>
#include <optional>
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
/// elements keep their order. Floats have their total order (compare.h), as in XLA: 0 is larger
/// than -0, and a NaN with a sign bit is the least of all.
std::pair<Tensor, Tensor> top_k(const Tensor& x, int64_t k);

// The largest elements of a float tensor, for programs that are written for an approximate search.
//
// Source of the arguments: Chern et al. 2022, arXiv 2206.14286, and jax.lax.approx_max_k.

/// What a search may leave out. Results are exact here, so they meet any target: the fields are
/// checked, and have no other effect.
struct ApproxMaxKOptions {
  /// The share of the k largest elements that a search has to find on average, in (0, 1].
  double recall_target = 0.95;
  /// The number of elements of the whole search where x is a part of it, for the recall. None: the
  /// size of the axis.
  std::optional<int64_t> reduction_input_size_override = {};
  /// False: a search may return more than k elements, in any order. Here they are k, descending.
  bool aggregate_to_topk = true;
};

/// Returns the k largest elements along `axis`, descending, and their indices (i32). Equal elements
/// and NaN are as in top_k.
///
/// Shapes: x of a floating-point dtype -> values of its dtype, indices i32; `axis` has k elements.
/// Throws ShapeError for other dtypes, for k outside of 1 to the size of the axis, for a recall
/// outside of (0, 1], and for a search of fewer elements than x has along the axis.
std::pair<Tensor, Tensor> approx_max_k(const Tensor& x, int64_t k, int64_t axis = -1,
                                       const ApproxMaxKOptions& options = {});

}  // namespace axle
