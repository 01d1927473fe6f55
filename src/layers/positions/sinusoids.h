// Sines and cosines of positions.
//
// Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.5.
#pragma once

#include "layers/positions/rotation.h"

namespace axle {

/// Returns sin(position * frequency) as the first element and cos(position * frequency) as the
/// second element of each pair, f32 [.., 2P], of positions [..] (integers).
Tensor sinusoids(const Tensor& positions, const Frequencies& frequencies, PairLayout layout);

}  // namespace axle
