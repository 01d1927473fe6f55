#include "layers/attention/biases/shared_bias.h"

#include "config/register.h"

namespace axle {

Tensor SharedBias::forward(const TokenPlaces& places) {
  const Tensor bias = inner_(places);
  publish(name_, bias);
  return bias;
}

AXLE_REGISTER(SharedBias)
AXLE_REGISTER(BorrowedBias)

}  // namespace axle
