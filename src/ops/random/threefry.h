// Threefry-2x32 with 20 rounds: the counter-based random function under all random numbers.
//
// Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 4.2.
#pragma once

#include <cstdint>
#include <utility>

#include "ir/tensor.h"

namespace axle {

/// The two words that counter (x0, x1) gives under key (k0, k1).
std::pair<uint32_t, uint32_t> threefry2x32(uint32_t k0, uint32_t k1, uint32_t x0, uint32_t x1);
/// The same for each element of u32 counters of one shape; key words are scalars or of that shape.
/// Throws ShapeError.
std::pair<Tensor, Tensor> threefry2x32(const Tensor& k0, const Tensor& k1, const Tensor& x0,
                                       const Tensor& x1);

}  // namespace axle
