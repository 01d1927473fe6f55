// Widths of hidden layers as functions of the model dim.
#pragma once

#include <cstdint>
#include <string_view>

#include "config/config_type.h"
#include "config/fields.h"

namespace axle {

using DimFn = Fn<int64_t(int64_t)>;

/// Returns width(dim). Throws ConfigError "<layer>.<field>: ...", with the path of the layer as
/// configs spell it, if the function throws one.
int64_t width_of(const DimFn& width, int64_t dim, std::string_view layer, std::string_view field);

/// The integer part of scale * model dim, rounded up to a multiple of multiple_of.
struct ScaledDim {
  /// Factor on the model dim.
  Positive<double> scale = 4;
  /// The result is rounded up to a multiple of this number.
  Positive<int64_t> multiple_of = 1;
  int64_t operator()(int64_t dim) const;
  AXLE_CONFIG(ScaledDim, scale, multiple_of)
};

/// `dim`, for any model dim.
struct FixedDim {
  /// The width.
  Required<Positive<int64_t>> dim = REQUIRED;
  static constexpr std::string_view kFromNumber = "dim";
  int64_t operator()(int64_t) const { return dim; }
  AXLE_CONFIG(FixedDim, dim)
};

}  // namespace axle
