// A function applied to one slice after the other, for batches that do not fit in memory at once.
#pragma once

#include <cstdint>

#include "transform/trace.h"

namespace axle {

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

}  // namespace axle
