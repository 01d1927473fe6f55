#include "layers/positions/divided_frequencies.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "config/register.h"

namespace axle {

namespace {

std::vector<double> divided(std::vector<double> radians,
                            const std::vector<Positive<double>>& divisors) {
  if (divisors.size() != radians.size()) {
    throw ConfigError(fmt::format("expected {} divisors, one for each pair, got {}", radians.size(),
                                  divisors.size()));
  }
  for (size_t i = 0; i < radians.size(); ++i) {
    const double divisor = divisors[i];  // configs in code are not checked
    if (!(divisor > 0) || !std::isfinite(divisor))
      throw ConfigError(fmt::format("expected positive divisors, got {} for pair {}", divisor, i));
    radians[i] /= divisor;
  }
  return radians;
}

}  // namespace

Frequencies DividedFrequencies::operator()(const FrequencySpec& spec) const {
  const std::vector<double> plain = PlainFrequencies{}(spec).radians;
  Frequencies out{.radians = divided(plain, divisors.get()), .scale = attention_factor};
  if (long_divisors.empty() != !original_len) {
    throw ConfigError(fmt::format("expected long_divisors and original_len together, got {}",
                                  original_len ? "original_len alone" : "long_divisors alone"));
  }
  if (!original_len) return out;
  out.long_radians = divided(plain, long_divisors);
  out.long_from = *original_len;
  return out;
}

AXLE_REGISTER(DividedFrequencies)

}  // namespace axle
