// Functions over all slices of tensors: one after the other, and prefix results.
#pragma once

#include <cstdint>
#include <functional>

#include "ir/tensor.h"
#include "transform/trace.h"

namespace axle {

// A function applied to one slice after the other, for batches that do not fit in memory at once.

struct SequentialMapOptions {
  /// Number of slices that are computed together, by vmap.
  int64_t batch_size = 1;
};

/// Computes fn for each slice of xs along dim 0, and stacks the outputs along dim 0. All tensors of
/// xs have the same dim 0. The values are those of vmap; the memory is that of one batch. `fn` may
/// use outer tensors. Gradients go through it as through scan.
///
/// Throws ShapeError if xs is empty or its leading dims differ, or if batch_size is below 1.
Values sequential_map(const TensorFunction& fn, const Values& xs,
                      const SequentialMapOptions& options = {});

// Prefix results of an associative operation, in logarithmic depth.
//
// Source: Blelloch 1990, Prefix sums and their applications, section 1.3.

/// Combines results of earlier elements with results of later ones, element by element. Must be
/// associative.
using AssociativeCombine = std::function<Values(const Values& earlier, const Values& later)>;

/// Returns y with y[.., t, ..] = x[.., 0, ..] * ... * x[.., t, ..] along `axis`, where * is
/// `combine`. All tensors of x have the same size along the axis. The number of calls of `combine`
/// is twice the logarithm of that size. Throws ShapeError for other sizes and for a `combine` that
/// does not return the types of its first argument.
Values associative_scan(const AssociativeCombine& combine, const Values& x, int64_t axis);

}  // namespace axle
