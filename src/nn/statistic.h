// Statistics: numbers that sum up a tensor, for summaries.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config_type.h"
#include "config/fields.h"
#include "ir/tensor.h"

namespace axle {

/// An f32 scalar with the name of its summary.
struct NamedStatistic {
  std::string name;
  Tensor value;
};
/// Computes a statistic of a floating-point tensor, in f32 for any dtype. The ones below leave
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

/// Returns where x has tokens: bool[B, T, 1, ..] of the rank of x, which is [B, T, ..]. None: every
/// position counts. `segment_ids` are i32[B, T]; none: the ids of the current call
/// (Invocation::segment_ids), if x has their dims in front of others.
std::optional<Tensor> real_tokens(const Tensor& x,
                                  const std::optional<Tensor>& segment_ids = std::nullopt);

/// Returns x with zeros where it has padding.
Tensor without_padding(const Tensor& x);

/// Returns the mean over `axes`, which are kept with size 1. Only vectors where `is_real` is true
/// count; none: all do. The mean of nothing is 0.
Tensor mean_of_real(const Tensor& x, const std::vector<int64_t>& axes,
                    const std::optional<Tensor>& is_real);

/// Returns the mean of all elements of x outside of padding: a scalar.
Tensor mean_of_tokens(const Tensor& x);

/// Returns bool[]: the current call has a token. None: every position holds one.
std::optional<Tensor> has_tokens();

}  // namespace axle
