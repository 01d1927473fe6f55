// Frequencies of position embeddings by rotation, and how models stretch them to longer texts.
//
// Source: Su et al. 2021, arXiv 2104.09864, section 3.2.2.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/axle_config.h"
#include "config/fields/fn.h"

namespace axle {

/// What frequencies are computed from.
struct FrequencySpec {
  /// Base of the wavelengths.
  double theta = 1e4;
  /// Number of elements that are turned, two for each frequency; even.
  int64_t dim = 0;
};

/// Frequencies that fall with the length L of a text: they are multiplied by
/// (1 + factor * max(0, L - original_len) / original_len)^exponent.
struct BaseGrowth {
  double factor = 1;
  int64_t original_len = 1;
  /// One for each pair.
  std::vector<double> exponents;
};

struct Frequencies {
  /// The angle in radians by which each pair turns from one position to the next, [dim / 2].
  std::vector<double> radians;
  /// The angles in texts whose positions reach `long_from`; empty: those of all texts.
  std::vector<double> long_radians = {};
  int64_t long_from = 0;
  /// None: they do not fall.
  std::optional<BaseGrowth> growth = {};
  /// Factor of the turned elements.
  double scale = 1;
};
using FrequencyFn = Fn<Frequencies(const FrequencySpec&)>;

/// Returns fn(spec). Throws ConfigError that begins with `path` if fn refuses its numbers or
/// returns another number of frequencies.
Frequencies checked_frequencies(const FrequencyFn& fn, const FrequencySpec& spec,
                                std::string_view path);

/// theta^(-2i / dim) for pair i.
struct PlainFrequencies {
  Frequencies operator()(const FrequencySpec& spec) const;
  AXLE_CONFIG(PlainFrequencies)
};

}  // namespace axle
