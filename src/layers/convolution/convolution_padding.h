// Paddings of convolution layers, by rules that configs can name.
#pragma once

#include <vector>

#include "config/axle_config.h"
#include "config/fields/fn.h"
#include "config/fields/ranged.h"
#include "ops/windows/window.h"

namespace axle {

/// Zeros before and after each spatial dim, from the windows along these dims.
using ConvolutionPadding = Fn<std::vector<DimPadding>(const SlidingWindow& windows)>;

/// No padding.
struct ValidPadding {
  std::vector<DimPadding> operator()(const SlidingWindow& windows) const;
  AXLE_CONFIG(ValidPadding)
};

/// The window less 1, half before and half after; the end gets an odd element. The window counts
/// with its holes. The amount does not depend on the stride.
struct SamePadding {
  std::vector<DimPadding> operator()(const SlidingWindow& windows) const;
  AXLE_CONFIG(SamePadding)
};

/// The first dim is time: window - stride before it, stride - 1 after it, so that no result sees
/// inputs after those of its own stride. The other dims are as in SamePadding.
struct CausalPadding {
  std::vector<DimPadding> operator()(const SlidingWindow& windows) const;
  AXLE_CONFIG(CausalPadding)
};

/// Zeros before and after one dim.
struct PaddedDim {
  /// Number of zeros before the dim.
  NonNegative<int64_t> low = 0;
  /// Number of zeros after the dim.
  NonNegative<int64_t> high = 0;
  AXLE_CONFIG(PaddedDim, low, high)
};
/// The given numbers of zeros. Throws ConfigError unless there is an entry for each spatial dim.
struct ExplicitPadding {
  /// An entry for each spatial dim.
  std::vector<PaddedDim> dims = {};
  std::vector<DimPadding> operator()(const SlidingWindow& windows) const;
  AXLE_CONFIG(ExplicitPadding, dims)
};

}  // namespace axle
