// The scaling of Llama 3.1.
//
// Source: Llama Team 2024, arXiv 2407.21783; the formula is that of its published code.
#pragma once

#include "config/fields/ranged.h"
#include "config/fields/required.h"
#include "layers/positions/frequencies.h"

namespace axle {

/// Keeps high frequencies, divides low ones by `factor`, and blends both between.
///
/// A frequency is high if it turns more than high_freq_factor times in original_len positions, low
/// if it turns less than low_freq_factor times. Throws ConfigError in a call unless low_freq_factor
/// < high_freq_factor.
struct Llama3Frequencies {
  /// Divisor of the low frequencies.
  Required<AtLeast<double, 1>> factor = REQUIRED;
  /// Number of turns below which a frequency is low.
  Positive<double> low_freq_factor = 1;
  /// Number of turns above which a frequency is high.
  Positive<double> high_freq_factor = 4;
  /// Number of positions that the model was first trained with.
  Required<Positive<int64_t>> original_len = REQUIRED;
  Frequencies operator()(const FrequencySpec& spec) const;
  AXLE_CONFIG(Llama3Frequencies, factor, low_freq_factor, high_freq_factor, original_len)
};

}  // namespace axle
