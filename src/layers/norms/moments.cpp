#include "layers/norms/moments.h"

#include "nn/real_tokens.h"
#include "ops/elementwise/arithmetic.h"

namespace axle {

Moments moments_of_real(const Tensor& x, const std::vector<int64_t>& axes,
                        const std::optional<Tensor>& is_real) {
  const Tensor mean = mean_of_real(x, axes, is_real);
  const Tensor centred = x - mean;
  return {mean, mean_of_real(centred * centred, axes, is_real)};
}

}  // namespace axle
