// Dynamic NTK-aware scaling: the base grows with the length of the text.
//
// Source: Peng et al. 2023, arXiv 2309.00071, section 3.3; the formula is that of transformers.
#pragma once

#include "config/fields/ranged.h"
#include "config/fields/required.h"
#include "layers/positions/frequencies.h"

namespace axle {

/// The plain frequencies in texts of up to original_len positions. In a text of L positions, more
/// than that, those of the base theta * (factor * L / original_len - factor + 1)^(dim / (dim - 2)).
/// A segment is as long as its largest position says. Keys in a cache stay as they were computed.
struct DynamicFrequencies {
  /// How much faster than the length the base grows.
  Required<AtLeast<double, 1>> factor = REQUIRED;
  /// Number of positions that the model was trained with.
  Required<Positive<int64_t>> original_len = REQUIRED;
  Frequencies operator()(const FrequencySpec& spec) const;
  AXLE_CONFIG(DynamicFrequencies, factor, original_len)
};

}  // namespace axle
