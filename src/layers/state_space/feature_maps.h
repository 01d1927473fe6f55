// Feature maps of linear attention, by name: elu_plus_one, softmax_features, relu, ...
//
// Source: Katharopoulos et al. 2020, arXiv 2006.16236, section 3.3.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Returns elu(x) + 1, which is positive.
Tensor elu_plus_one(const Tensor& x);
/// Returns the softmax over the last dim.
Tensor softmax_features(const Tensor& x);

}  // namespace axle
