#include "layers/attention/cores/sigmoid_attention.h"

#include <cmath>

#include "config/register.h"
#include "ops/elementwise/activations.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"

namespace axle {

Tensor SigmoidAttention::weights(const Tensor& logits, const HeadGroups&, DType result) {
  const Tensor shifted = bias_len_ ? logits - std::log(static_cast<double>(*bias_len_)) : logits;
  return astype(sigmoid(shifted), result);
}

AXLE_REGISTER(SigmoidAttention)

}  // namespace axle
