#include "layers/positions/linear_frequencies.h"

#include "config/register.h"

namespace axle {

Frequencies LinearFrequencies::operator()(const FrequencySpec& spec) const {
  Frequencies out = PlainFrequencies{}(spec);
  for (double& f : out.radians) f /= double{factor};
  return out;
}

AXLE_REGISTER(LinearFrequencies)

}  // namespace axle
