// Threefry-2x32 with 20 rounds: the counter-based generator of all random numbers.
//
// Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 4.2.
#pragma once

#include <cstdint>
#include <utility>

#include "ir/tensor.h"

namespace axle {

/// Returns the two random words of the counter (x0, x1) under the key (k0, k1).
std::pair<uint32_t, uint32_t> threefry2x32(uint32_t k0, uint32_t k1, uint32_t x0, uint32_t x1);
/// Elementwise threefry2x32 of u32 tensors. The counters x0 and x1 have one shape; the key words
/// are scalars or have this shape too. Throws ShapeError for other shapes and dtypes.
std::pair<Tensor, Tensor> threefry2x32(const Tensor& k0, const Tensor& k1, const Tensor& x0,
                                       const Tensor& x1);

}  // namespace axle
