// Blocks of 256 values whose groups have scales of their own ("K" types). The scales of groups are
// multiples of the block's d, and their offsets of its m; d and m are f16.
//
//   Q4_K  d, m, 12 bytes of 8 scales and 8 offsets of 6 bits, 128 bytes of two 4-bit q
//         group of 32: d scale q - m offset
//   Q5_K  as Q4_K, with 32 bytes of fifth bits before the halves
//   Q6_K  128 bytes of low halves, 64 bytes of two high bits, 16 signed scales, d
//         group of 16: d scale (q - 32)
#pragma once

#include <cstddef>
#include <cstdint>

#include "io/gguf/block_type.h"

namespace axle {

void q4_k_values(const std::byte* blocks, int64_t num_blocks, float* values);
void q5_k_values(const std::byte* blocks, int64_t num_blocks, float* values);
void q6_k_values(const std::byte* blocks, int64_t num_blocks, float* values);

/// Split blocks into codes and scales (BlockGroups).
void q4_k_groups(const std::byte* blocks, int64_t num_blocks, GroupNumbers out);
void q5_k_groups(const std::byte* blocks, int64_t num_blocks, GroupNumbers out);
void q6_k_groups(const std::byte* blocks, int64_t num_blocks, GroupNumbers out);

}  // namespace axle
