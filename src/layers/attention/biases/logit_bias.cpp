#include "layers/attention/biases/logit_bias.h"

#include "config/register.h"

namespace axle {

void LogitBias::check_result(const Tensor& bias, const TokenPlaces& places) const {
  Type expected{DType::kF32,
                {given_dims() ? int64_t{given_dims()->num_heads} : kAnySize,
                 places.query_positions.dim(-2), places.key_positions.dim(-1)}};
  if (bias && bias.rank() == 4) expected.dims.insert(expected.dims.begin(), kAnySize);
  expect_result(bias, expected);
}

LogitBias::OfBlock LogitBias::of_blocks(const TokenPlaces& all, int64_t num_rows) {
  return [this, blocks = unchecked_blocks(all, num_rows)](const TokenPlaces& places) {
    Tensor out = blocks(places);
    check_result(out, places);
    return out;
  };
}

LogitBias::OfBlock LogitBias::unchecked_blocks(const TokenPlaces&, int64_t) {
  return [this](const TokenPlaces& places) { return (*this)(places); };
}

AXLE_REGISTER(LogitBias::Dims)

template class LayerRole<LogitBias, LogitBias::Signature>;

}  // namespace axle
