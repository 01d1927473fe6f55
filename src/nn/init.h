// How parameters start: initialisers by name, and the fans that scale them.
//
// Source: Glorot & Bengio 2010; He et al. 2015, arXiv 1502.01852. Draws agree with
// jax.nn.initializers bit for bit if the sampler does (ops/random/random.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/text/text.h"
#include "config/config_type.h"
#include "config/fields.h"
#include "ir/tensor.h"
#include "ops/random/random.h"

namespace axle {

/// Which dims of a weight count as inputs, as outputs, and as batch dims, which do not count.
/// Negative dims count from the end.
struct FanAxes {
  std::vector<int64_t> in = {-2}, out = {-1}, batch = {};
};

/// What an initialiser knows about its parameter.
struct InitSpec {
  Shape shape;
  DType dtype = DType::kF32;
  FanAxes fan = {};
};

/// The initialiser of one parameter: its text for tables, and the traced function from a key to
/// the value.
struct Initialiser {
  std::string text;
  std::function<Tensor(const random::Key& key)> draw;
};
using Init = Fn<Initialiser(const InitSpec&)>;

/// Sets every element to `value`.
struct Constant {
  /// The value of every element: any number.
  double value = 0;
  Initialiser operator()(const InitSpec& spec) const;
  AXLE_CONFIG(Constant, value)
};
/// Sets every element to 0.
struct Zeros {
  Initialiser operator()(const InitSpec& spec) const;
  AXLE_CONFIG(Zeros)
};
/// Sets every element to 1.
struct Ones {
  Initialiser operator()(const InitSpec& spec) const;
  AXLE_CONFIG(Ones)
};

/// Draws from the normal distribution.
struct Gaussian {
  /// The standard deviation.
  Required<NonNegative<double>> std = REQUIRED;
  /// The mean: any number.
  double mean = 0;
  Initialiser operator()(const InitSpec& spec) const;
  AXLE_CONFIG(Gaussian, std, mean)
};

enum class Fan { kIn, kOut, kAverage, kNone };
enum class Distribution { kUniform, kNormal, kTruncatedNormal };
constexpr auto texts_of(Fan) {
  return std::to_array<EnumText<Fan>>({{Fan::kIn, "fan_in"},
                                       {Fan::kOut, "fan_out"},
                                       {Fan::kAverage, "fan_avg"},
                                       {Fan::kNone, "none"}});
}
constexpr auto texts_of(Distribution) {
  return std::to_array<EnumText<Distribution>>(
      {{Distribution::kUniform, "uniform"},
       {Distribution::kNormal, "normal"},
       {Distribution::kTruncatedNormal, "truncated_normal"}});
}

/// Returns the fan of a parameter: its number of inputs, of outputs, or the mean of both. Throws
/// ConfigError if the parameter lacks the fan's dims.
double fan_size(const InitSpec& spec, Fan fan);

/// Draws with variance scale / fan: normal, uniform, or truncated at two standard deviations. With
/// Fan::kNone, `scale` is the standard deviation of the normal distributions (after truncation) or
/// the half width of the uniform one.
struct VarianceScaling {
  /// The variance is scale / fan. With the fan `none`: the standard deviation of `normal` and
  /// `truncated_normal`, or the half width of `uniform`.
  Positive<double> scale = 1;
  /// The fan that divides the variance: number of inputs, of outputs, or the mean of both.
  Fan fan = Fan::kAverage;
  /// The distribution to draw from. With a fan, all of them have the same variance.
  Distribution distribution = Distribution::kUniform;
  Initialiser operator()(const InitSpec& spec) const;
  AXLE_CONFIG(VarianceScaling, scale, fan, distribution)
};

}  // namespace axle
