#include "layers/positions/llama3_frequencies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "config/register.h"

namespace axle {

Frequencies Llama3Frequencies::operator()(const FrequencySpec& spec) const {
  const double low = low_freq_factor, high = high_freq_factor;
  if (low >= high) {
    throw ConfigError(
        fmt::format("expected low_freq_factor < high_freq_factor, got {} and {}", low, high));
  }
  Frequencies out = PlainFrequencies{}(spec);
  for (double& f : out.radians) {
    const double turns = static_cast<double>(int64_t{original_len}) * f / (2 * std::numbers::pi);
    const double kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    f *= kept + (1 - kept) / double{factor};
  }
  return out;
}

AXLE_REGISTER(Llama3Frequencies)

}  // namespace axle
