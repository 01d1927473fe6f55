#include "layers/positions/frequencies.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "config/register.h"

namespace axle {

Frequencies checked_frequencies(const FrequencyFn& fn, const FrequencySpec& spec,
                                std::string_view path) {
  Frequencies out;
  try {
    out = fn(spec);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", path, error.what()));
  }
  for (const auto* const radians : {&out.radians, &out.long_radians}) {
    const auto count = static_cast<int64_t>(radians->size());
    if (count == spec.dim / 2 || (radians == &out.long_radians && count == 0)) continue;
    throw ConfigError(
        fmt::format("{}: expected {} frequencies, got {}", path, spec.dim / 2, count));
  }
  return out;
}

Frequencies PlainFrequencies::operator()(const FrequencySpec& spec) const {
  Frequencies out;
  for (int64_t i = 0; i < spec.dim; i += 2) {
    out.radians.push_back(
        std::pow(spec.theta, -static_cast<double>(i) / static_cast<double>(spec.dim)));
  }
  return out;
}

AXLE_REGISTER(PlainFrequencies)

}  // namespace axle
