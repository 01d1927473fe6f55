#include "layers/positions/frequencies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

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

Frequencies LinearFrequencies::operator()(const FrequencySpec& spec) const {
  Frequencies out = PlainFrequencies{}(spec);
  for (double& f : out.radians) f /= double{factor};
  return out;
}

AXLE_REGISTER(LinearFrequencies)

Frequencies NTKFrequencies::operator()(const FrequencySpec& spec) const {
  // With one pair, the frequency is 1 for any base.
  if (spec.dim == 2) return PlainFrequencies{}(spec);
  const auto dim = static_cast<double>(spec.dim);
  return PlainFrequencies{}(
      {.theta = spec.theta * std::pow(double{factor}, dim / (dim - 2)), .dim = spec.dim});
}

AXLE_REGISTER(NTKFrequencies)

Frequencies InclusiveFrequencies::operator()(const FrequencySpec& spec) const {
  const auto last = static_cast<double>(std::max<int64_t>(spec.dim / 2 - 1, 1));
  Frequencies out;
  for (int64_t i = 0; i < spec.dim / 2; ++i)
    out.radians.push_back(std::pow(spec.theta, -static_cast<double>(i) / last));
  return out;
}

AXLE_REGISTER(InclusiveFrequencies)

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

Frequencies YaRNFrequencies::operator()(const FrequencySpec& spec) const {
  if (beta_slow >= beta_fast) {
    throw ConfigError(fmt::format("expected beta_slow < beta_fast, got {} and {}",
                                  double{beta_slow}, double{beta_fast}));
  }
  if (spec.theta <= 1)
    throw ConfigError(
        fmt::format("expected theta > 1, got {}; YaRN needs its logarithm", spec.theta));
  const auto dim = static_cast<double>(spec.dim);
  // Returns the index of the pair that rotates `count` times in original_len positions.
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

Frequencies DynamicFrequencies::operator()(const FrequencySpec& spec) const {
  Frequencies out = PlainFrequencies{}(spec);
  out.growth = BaseGrowth{.factor = *factor, .original_len = *original_len, .exponents = {}};
  // (theta g^(dim / (dim - 2)))^(-i / dim) is the plain frequency times g^(-i / (dim - 2)).
  for (int64_t i = 0; i < spec.dim; i += 2) {
    const auto divisor = static_cast<double>(spec.dim - 2);
    out.growth->exponents.push_back(i == 0 ? 0 : -static_cast<double>(i) / divisor);
  }
  return out;
}

AXLE_REGISTER(DynamicFrequencies)

}  // namespace axle
