#include "layers/positions/inclusive_frequencies.h"

#include <algorithm>
#include <cmath>

#include "config/register.h"

namespace axle {

Frequencies InclusiveFrequencies::operator()(const FrequencySpec& spec) const {
  const auto last = static_cast<double>(std::max<int64_t>(spec.dim / 2 - 1, 1));
  Frequencies out;
  for (int64_t i = 0; i < spec.dim / 2; ++i)
    out.radians.push_back(std::pow(spec.theta, -static_cast<double>(i) / last));
  return out;
}

AXLE_REGISTER(InclusiveFrequencies)

}  // namespace axle
