// Factors on embedded vectors.
#pragma once

#include "config/axle_config.h"
#include "config/fields/fn.h"
#include "config/fields/ranged.h"
#include "config/fields/required.h"

namespace axle {

/// The factor on embedded vectors, from the model dim.
using EmbeddingScale = Fn<double(int64_t)>;

/// The square root of the model dim: vectors drawn with variance 1 / dim get elements of size 1.
struct RootOfDim {
  double operator()(int64_t dim) const;
  AXLE_CONFIG(RootOfDim)
};

/// `value`, whatever the model dim is.
struct ConstantScale {
  /// The factor.
  Required<Positive<double>> value = REQUIRED;
  static constexpr std::string_view kFromNumber = "value";
  double operator()(int64_t) const { return value; }
  AXLE_CONFIG(ConstantScale, value)
};

}  // namespace axle
