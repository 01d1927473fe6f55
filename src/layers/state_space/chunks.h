// Sequences cut into chunks of positions.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   C chunks   Q positions of a chunk
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Returns x[B, T, ..] as [B, C, Q, ..], with zeros after the end.
Tensor in_chunks(const Tensor& x, int64_t chunk_size);

}  // namespace axle
