// Statistics of activations that leave out padding.
#pragma once

#include <optional>

#include "ir/tensor.h"

namespace axle {

struct Moments {
  Tensor mean, variance;
};
/// Returns mean and variance over `axes`, which are kept with size 1. Only vectors where `is_real`
/// (real_tokens of x) is true count. The variance takes two passes.
Moments moments_of_real(const Tensor& x, const std::vector<int64_t>& axes,
                        const std::optional<Tensor>& is_real);

}  // namespace axle
