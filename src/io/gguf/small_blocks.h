// Blocks of 32 values: q * d, or q * d + m. d and m are f16.
//
//   Q4_0  d, 16 bytes of two 4-bit q          value (q - 8) d
//   Q4_1  d, m, 16 bytes                      q d + m
//   Q5_0  d, 32 high bits, 16 bytes           (q - 16) d
//   Q5_1  d, m, 32 high bits, 16 bytes        q d + m
//   Q8_0  d, 32 signed bytes                  q d
// The low half of byte i is of value i, the high half of value i + 16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "io/gguf/block_type.h"

namespace axle {

void q4_0_values(const std::byte* blocks, int64_t num_blocks, float* values);
void q4_1_values(const std::byte* blocks, int64_t num_blocks, float* values);
void q5_0_values(const std::byte* blocks, int64_t num_blocks, float* values);
void q5_1_values(const std::byte* blocks, int64_t num_blocks, float* values);
void q8_0_values(const std::byte* blocks, int64_t num_blocks, float* values);

/// The largest magnitude that Q8_0 can store: 127 times the largest f16.
inline constexpr float kMaxQ8Value = 127 * 65504.0f;
/// d is the largest magnitude / 127 and q = value / d, rounded to the nearest integer, ties away
/// from zero. The values must be finite, of magnitudes up to kMaxQ8Value.
void q8_0_blocks(const float* values, int64_t num_blocks, std::byte* blocks);

/// Split blocks into codes and scales (BlockGroups).
void q4_0_groups(const std::byte* blocks, int64_t num_blocks, GroupNumbers out);
void q4_1_groups(const std::byte* blocks, int64_t num_blocks, GroupNumbers out);
void q5_0_groups(const std::byte* blocks, int64_t num_blocks, GroupNumbers out);
void q5_1_groups(const std::byte* blocks, int64_t num_blocks, GroupNumbers out);
void q8_0_groups(const std::byte* blocks, int64_t num_blocks, GroupNumbers out);

}  // namespace axle
