// Position interpolation.
//
// Source: Chen et al. 2023, arXiv 2306.15595, section 2.3.
#pragma once

#include "config/fields/ranged.h"
#include "config/fields/required.h"
#include "layers/positions/frequencies.h"

namespace axle {

/// The plain frequencies divided by `factor`, as if positions were closer together.
struct LinearFrequencies {
  /// How many times longer texts become.
  Required<AtLeast<double, 1>> factor = REQUIRED;
  Frequencies operator()(const FrequencySpec& spec) const;
  AXLE_CONFIG(LinearFrequencies, factor)
};

}  // namespace axle
