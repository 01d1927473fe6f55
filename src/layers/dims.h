// Widths of hidden layers as functions of the model dim.
#pragma once

#include <cstdint>

#include "config/describe.h"
#include "config/fn.h"

namespace axle {

using DimFn = Fn<int64_t(int64_t)>;

/// The integer part of scale * dim, rounded up to a multiple.
struct ScaledDim {
  double scale = 4;
  int64_t multiple_of = 1;
  int64_t operator()(int64_t dim) const;
  AXLE_CONFIG(ScaledDim, scale, multiple_of)
};

/// `dim`, whatever the model dim is.
struct FixedDim {
  int64_t dim = 0;
  int64_t operator()(int64_t) const { return dim; }
  AXLE_CONFIG(FixedDim, dim)
};

}  // namespace axle
