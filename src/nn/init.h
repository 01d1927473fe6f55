// How parameters start: initialisers by name, and the fans that scale them.
//
// Source: Glorot & Bengio 2010; He et al. 2015, arXiv 1502.01852; draws agree with
// jax.nn.initializers bit for bit where the sampler does (ops/random/random.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/text/enum_text.h"
#include "config/describe.h"
#include "config/fields/fn.h"
#include "config/fields/ranged.h"
#include "ir/tensor.h"

namespace axle {

/// Which dims of a weight count as inputs, as outputs, and as copies that do not count (negative
/// from the end).
struct FanAxes {
  std::vector<int64_t> in = {-2}, out = {-1}, batch = {};
};

/// What an initialiser may know of its parameter.
struct InitSpec {
  Shape shape;
  DType dtype = DType::kF32;
  FanAxes fan = {};
};

/// The draw of one parameter: its text for tables, and the traced function from a key u32[2] to the
/// value.
struct Initialiser {
  std::string text;
  std::function<Tensor(const Tensor& key)> draw;
};
using Init = Fn<Initialiser(const InitSpec&)>;

/// Every element is `value`.
struct Constant {
  /// Of every element.
  double value = 0;
  Initialiser operator()(const InitSpec& spec) const;
  AXLE_CONFIG(Constant, value)
};
/// Every element is 0.
struct Zeros {
  Initialiser operator()(const InitSpec& spec) const;
  AXLE_CONFIG(Zeros)
};
/// Every element is 1.
struct Ones {
  Initialiser operator()(const InitSpec& spec) const;
  AXLE_CONFIG(Ones)
};

enum class Fan { kIn, kOut, kAverage, kNone };
enum class Distribution { kUniform, kNormal, kTruncatedNormal };
constexpr auto texts_of(Fan) {
  return std::to_array<EnumText<Fan>>({{Fan::kIn, "fan_in"}, {Fan::kOut, "fan_out"}, {Fan::kAverage, "fan_avg"}, {Fan::kNone, "none"}});
}
constexpr auto texts_of(Distribution) {
  return std::to_array<EnumText<Distribution>>({{Distribution::kUniform, "uniform"}, {Distribution::kNormal, "normal"}, {Distribution::kTruncatedNormal, "truncated_normal"}});
}

/// Variance scale / fan: normal, uniform or truncated at two standard deviations. With Fan::kNone
/// the scale itself is the standard deviation (the half width of the uniform distribution).
struct VarianceScaling {
  /// Times 1 / fan: the variance; with the fan `none`, the deviation itself.
  Positive<double> scale = 1;
  /// How many inputs, outputs, or the mean of both, the variance is divided by.
  Fan fan = Fan::kAverage;
  /// What is drawn from; all have the same variance.
  Distribution distribution = Distribution::kUniform;
  Initialiser operator()(const InitSpec& spec) const;
  AXLE_CONFIG(VarianceScaling, scale, fan, distribution)
};

}  // namespace axle
