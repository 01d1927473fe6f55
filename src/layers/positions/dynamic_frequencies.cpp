#include "layers/positions/dynamic_frequencies.h"

#include "config/register.h"

namespace axle {

Frequencies DynamicFrequencies::operator()(const FrequencySpec& spec) const {
  Frequencies out = PlainFrequencies{}(spec);
  out.growth = BaseGrowth{.factor = *factor, .original_len = *original_len, .exponents = {}};
  // (theta g^(dim / (dim - 2)))^(-i / dim) is the plain frequency times g^(-i / (dim - 2)).
  for (int64_t i = 0; i < spec.dim; i += 2) {
    const auto divisor = static_cast<double>(spec.dim - 2);
    out.growth->exponents.push_back(i == 0 ? 0 : -static_cast<double>(i) / divisor);
  }
  return out;
}

AXLE_REGISTER(DynamicFrequencies)

}  // namespace axle
