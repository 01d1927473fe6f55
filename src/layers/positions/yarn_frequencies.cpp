#include "layers/positions/yarn_frequencies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "config/register.h"

namespace axle {

Frequencies YaRNFrequencies::operator()(const FrequencySpec& spec) const {
  if (beta_slow >= beta_fast) {
    throw ConfigError(fmt::format("expected beta_slow < beta_fast, got {} and {}",
                                  double{beta_slow}, double{beta_fast}));
  }
  if (spec.theta <= 1)
    throw ConfigError(
        fmt::format("expected theta > 1, got {}; YaRN needs its logarithm", spec.theta));
  const auto dim = static_cast<double>(spec.dim);
  // Returns the index of the pair that turns `count` times in original_len positions.
  const auto index_of = [&](double count) {
    const double positions = static_cast<double>(int64_t{original_len});
    return dim * std::log(positions / (count * 2 * std::numbers::pi)) / (2 * std::log(spec.theta));
  };
  double first = index_of(beta_fast), last = index_of(beta_slow);
  if (whole_indices) {
    first = std::floor(first);
    last = std::ceil(last);
  }
  first = std::max(first, 0.0);
  last = std::min(last, dim - 1);
  if (last <= first) last = first + 1e-3;

  Frequencies out = PlainFrequencies{}(spec);
  for (size_t i = 0; i < out.radians.size(); ++i) {
    const double divided = std::clamp((static_cast<double>(i) - first) / (last - first), 0.0, 1.0);
    out.radians[i] *= 1 - divided + divided / double{factor};
  }
  out.scale = attention_factor ? double{*attention_factor} : 0.1 * std::log(double{factor}) + 1;
  return out;
}

AXLE_REGISTER(YaRNFrequencies)

}  // namespace axle
