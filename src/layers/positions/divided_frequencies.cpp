#include "layers/positions/divided_frequencies.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "config/register.h"

namespace axle {

Frequencies DividedFrequencies::operator()(const FrequencySpec& spec) const {
  Frequencies out = PlainFrequencies{}(spec);
  const std::vector<Positive<double>>& own = divisors.get();
  if (own.size() != out.radians.size()) {
    throw ConfigError(fmt::format("expected {} divisors, one for each pair, got {}",
                                  out.radians.size(), own.size()));
  }
  for (size_t i = 0; i < own.size(); ++i) {
    const double divisor = own[i];  // configs in code are not checked
    if (!(divisor > 0) || !std::isfinite(divisor))
      throw ConfigError(fmt::format("expected positive divisors, got {} for pair {}", divisor, i));
    out.radians[i] /= divisor;
  }
  out.scale = attention_factor;
  return out;
}

AXLE_REGISTER(DividedFrequencies)

}  // namespace axle
