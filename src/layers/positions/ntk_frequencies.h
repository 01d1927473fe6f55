// NTK-aware scaling.
//
// Source: Peng et al. 2023, arXiv 2309.00071, section 3.1, definition 1.
#pragma once

#include "config/fields/ranged.h"
#include "config/fields/required.h"
#include "layers/positions/frequencies.h"

namespace axle {

/// The plain frequencies of the base theta * factor^(dim / (dim - 2)): the highest frequency stays,
/// the lowest one is divided by `factor`.
struct NTKFrequencies {
  /// How many times longer texts become.
  Required<AtLeast<double, 1>> factor = REQUIRED;
  Frequencies operator()(const FrequencySpec& spec) const;
  AXLE_CONFIG(NTKFrequencies, factor)
};

}  // namespace axle
