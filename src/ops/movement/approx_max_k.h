// The largest elements of a float tensor, for programs that are written for an approximate search.
//
// Source of the arguments: Chern et al. 2022, arXiv 2206.14286, and jax.lax.approx_max_k.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "ir/tensor.h"

namespace axle {

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
