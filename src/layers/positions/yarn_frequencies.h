// YaRN.
//
// Source: Peng et al. 2023, arXiv 2309.00071, sections 3.2 to 3.4; the range is that of its code.
#pragma once

#include "config/fields/ranged.h"
#include "config/fields/required.h"
#include "layers/positions/frequencies.h"

namespace axle {

/// Keeps pairs that turn more than beta_fast times in original_len positions, divides by `factor`
/// the frequencies of pairs that turn less than beta_slow times, and blends both between, linearly
/// in the index of the pair. Turned elements are multiplied by attention_factor.
///
/// Throws ConfigError in a call unless beta_slow < beta_fast and theta > 1.
struct YaRNFrequencies {
  /// How many times longer texts become.
  Required<AtLeast<double, 1>> factor = REQUIRED;
  /// Number of positions that the model was first trained with.
  Required<Positive<int64_t>> original_len = REQUIRED;
  /// Number of turns above which a frequency is kept.
  Positive<double> beta_fast = 32;
  /// Number of turns below which a frequency is divided by `factor`.
  Positive<double> beta_slow = 1;
  /// Factor of the turned elements, so that its square is a factor of the logits; none: 0.1
  /// ln(factor) + 1.
  std::optional<Positive<double>> attention_factor = {};
  /// True: the blend begins and ends at whole indices, as in the published code.
  bool whole_indices = true;
  Frequencies operator()(const FrequencySpec& spec) const;
  AXLE_CONFIG(YaRNFrequencies, factor, original_len, beta_fast, beta_slow, attention_factor,
              whole_indices)
};

}  // namespace axle
