#include "layers/positions/ntk_frequencies.h"

#include <cmath>

#include "config/register.h"

namespace axle {

Frequencies NTKFrequencies::operator()(const FrequencySpec& spec) const {
  // With one pair, the frequency is 1 whatever the base.
  if (spec.dim == 2) return PlainFrequencies{}(spec);
  const auto dim = static_cast<double>(spec.dim);
  return PlainFrequencies{}(
      {.theta = spec.theta * std::pow(double{factor}, dim / (dim - 2)), .dim = spec.dim});
}

AXLE_REGISTER(NTKFrequencies)

}  // namespace axle
