// Frequencies with a divisor for each pair: LongRoPE, and the factors that GGUF files hold.
//
// Source: Ding et al. 2024, arXiv 2402.13753, section 3.
#pragma once

#include <vector>

#include "config/fields/ranged.h"
#include "config/fields/required.h"
#include "layers/positions/frequencies.h"

namespace axle {

/// The plain frequencies, each divided by a number of its own. Turned elements are multiplied by
/// attention_factor.
///
/// Throws ConfigError in a call unless there is a positive divisor for each pair.
struct DividedFrequencies {
  /// The divisors, that of the highest frequency first.
  Required<std::vector<Positive<double>>> divisors = REQUIRED;
  /// Factor of the turned elements, so that its square is a factor of the logits.
  Positive<double> attention_factor = 1;
  Frequencies operator()(const FrequencySpec& spec) const;
  AXLE_CONFIG(DividedFrequencies, divisors, attention_factor)
};

}  // namespace axle
