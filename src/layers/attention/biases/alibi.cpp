#include "layers/attention/biases/alibi.h"

#include <bit>
#include <cmath>

#include "config/register.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/rounding.h"
#include "ops/movement/shape.h"

namespace axle {

std::vector<float> ALiBi::slopes(int64_t num_heads) {
  const auto slope = [](double index, double count) {
    return static_cast<float>(std::exp2(-8 * (index + 1) / count));
  };
  const auto lower = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(num_heads)));
  std::vector<float> out;
  for (int64_t n = 0; n < lower; ++n)
    out.push_back(slope(static_cast<double>(n), static_cast<double>(lower)));
  for (int64_t n = 0; n < num_heads - lower; ++n)
    out.push_back(slope(static_cast<double>(2 * n), static_cast<double>(2 * lower)));
  return out;
}

Tensor ALiBi::forward(const TokenPlaces& places) {
  const Tensor distance = astype(abs(places.query_positions - places.key_positions), DType::kF32);
  const Tensor slope =
      constant(HostTensor({num_heads_, 1, 1}, std::span<const float>(slopes(num_heads_))));
  return -slope * expand_dims(distance, -3);
}

AXLE_REGISTER(ALiBi)

}  // namespace axle
