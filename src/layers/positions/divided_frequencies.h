// Frequencies with a divisor for each pair: LongRoPE, and the factors that GGUF files hold.
//
// Source: Ding et al. 2024, arXiv 2402.13753, section 3.
#pragma once

#include <optional>
#include <vector>

#include "config/fields/ranged.h"
#include "config/fields/required.h"
#include "layers/positions/frequencies.h"

namespace axle {

/// The plain frequencies, each divided by a number of its own. Turned elements are multiplied by
/// attention_factor.
///
/// A model may have other divisors for long texts, as Phi-3 has. A segment is long if one of its
/// positions is `original_len` or more. Keys in a cache stay as they were computed: a text that
/// grows beyond the length while it is decoded has keys of both kinds.
///
/// Throws ConfigError in a call unless there is a positive divisor for each pair, and a length if
/// there are divisors of long texts.
struct DividedFrequencies {
  /// The divisors, that of the highest frequency first.
  Required<std::vector<Positive<double>>> divisors = REQUIRED;
  /// The divisors of long texts; empty: there is no difference.
  std::vector<Positive<double>> long_divisors = {};
  /// The positions of texts that are not long.
  std::optional<Positive<int64_t>> original_len = {};
  /// Factor of the turned elements, so that its square is a factor of the logits.
  Positive<double> attention_factor = 1;
  Frequencies operator()(const FrequencySpec& spec) const;
  AXLE_CONFIG(DividedFrequencies, divisors, long_divisors, original_len, attention_factor)
};

}  // namespace axle
