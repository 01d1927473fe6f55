// Statistics: numbers that sum up a tensor, for summaries.
#pragma once

#include <string>
#include <vector>

#include "config/axle_config.h"
#include "config/fields/fn.h"
#include "config/fields/ranged.h"
#include "ir/tensor.h"

namespace axle {

/// An f32 scalar with the name of its summary.
struct NamedStatistic {
  std::string name;
  Tensor value;
};
/// Computes a statistic of a floating-point tensor, in f32 whatever its dtype. Those below leave
/// out padding (real_tokens).
using Statistic = Fn<NamedStatistic(const Tensor& x)>;

/// "rms": the root of the mean square.
struct Rms {
  NamedStatistic operator()(const Tensor& x) const;
  AXLE_CONFIG(Rms)
};
/// "max_abs": the largest magnitude.
struct MaxAbs {
  NamedStatistic operator()(const Tensor& x) const;
  AXLE_CONFIG(MaxAbs)
};
/// "zeros": the fraction of elements that are 0.
struct ZeroFraction {
  NamedStatistic operator()(const Tensor& x) const;
  AXLE_CONFIG(ZeroFraction)
};
/// "outliers": the fraction of elements whose magnitude is above a multiple of the root mean square
/// of all.
struct OutlierFraction {
  /// The multiple. Of normally distributed elements, 2e-9 are above 6.
  Positive<double> multiple = 6;
  NamedStatistic operator()(const Tensor& x) const;
  AXLE_CONFIG(OutlierFraction, multiple)
};

/// Returns all of the above.
std::vector<Statistic> all_statistics();

}  // namespace axle
