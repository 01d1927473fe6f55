#include "nn/init.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/random/random.h"

namespace axle {
namespace {

// "1.0" for 1: a decimal point always, so that tables read like the published ones.
std::string decimal(double v) {
  std::string text = fmt::format("{}", v);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

}  // namespace

double fan_size(const InitSpec& spec, Fan fan) {
  const auto rank = std::ssize(spec.shape);
  const auto product = [&](const std::vector<int64_t>& axes) {
    double n = 1;
    for (const int64_t a : axes) {
      if (a < -rank || a >= rank) {
        throw ConfigError(
            fmt::format("fan axes must be dims of the parameter, got {} for shape {}; name them, "
                        "or an initialiser without fan",
                        a, to_text(spec.shape)));
      }
      n *= static_cast<double>(spec.shape[a < 0 ? a + rank : a]);
    }
    return n;
  };
  const double in = product(spec.fan.in), out = product(spec.fan.out);
  const double receptive =
      static_cast<double>(num_elements(spec.shape)) / in / out / product(spec.fan.batch);
  switch (fan) {
    case Fan::kIn:
      return in * receptive;
    case Fan::kOut:
      return out * receptive;
    default:
      return (in + out) * receptive / 2;
  }
}

Initialiser Constant::operator()(const InitSpec& spec) const {
  return {fmt::format("constant({})", decimal(value)),
          [spec, v = value](const random::Key&) { return full(spec.shape, v, spec.dtype); }};
}
Initialiser Zeros::operator()(const InitSpec& spec) const { return Constant{0}(spec); }
Initialiser Ones::operator()(const InitSpec& spec) const { return Constant{1}(spec); }

Initialiser Gaussian::operator()(const InitSpec& spec) const {
  return {fmt::format("normal({}, {}^2)", decimal(mean), decimal(std)),
          [spec, *this](const random::Key& key) {
            const Tensor drawn = random::normal(key, spec.shape, spec.dtype) * double{std};
            return mean == 0 ? drawn : drawn + mean;
          }};
}

Initialiser VarianceScaling::operator()(const InitSpec& spec) const {
  const std::string spread =
      fan == Fan::kNone ? decimal(scale) : fmt::format("{} / {}", decimal(scale), to_text(fan));
  return {fmt::format("{}(0, {})", to_text(distribution), spread),
          [spec, *this](const random::Key& key) {
            // The variance is rounded to f32 before the root, as in the reference.
            const double variance =
                fan == Fan::kNone ? 0 : static_cast<float>(scale / fan_size(spec, fan));
            const double deviation =
                fan == Fan::kNone ? double{scale} : std::sqrt(static_cast<float>(variance));
            switch (distribution) {
              case Distribution::kUniform: {
                const double half_width =
                    fan == Fan::kNone ? double{scale} : std::sqrt(static_cast<float>(3 * variance));
                return random::uniform(key, spec.shape, spec.dtype, -1, 1) * half_width;
              }
              case Distribution::kNormal:
                return random::normal(key, spec.shape, spec.dtype) * deviation;
              case Distribution::kTruncatedNormal:
                break;
            }
            // 0.8796... is the standard deviation of the standard normal distribution truncated at
            // +-2.
            return random::truncated_normal(key, spec.shape, -2, 2, spec.dtype) *
                   static_cast<float>(deviation / 0.87962566103423978);
          }};
}

AXLE_REGISTER(Constant)
AXLE_REGISTER(Zeros)
AXLE_REGISTER(Ones)
AXLE_REGISTER(Gaussian)
AXLE_REGISTER(VarianceScaling)

}  // namespace axle
