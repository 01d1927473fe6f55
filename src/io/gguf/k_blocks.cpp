#include "io/gguf/k_blocks.h"

#include <cstring>

#include "ir/small_float.h"

namespace axle {
namespace {

constexpr int kValues = 256;

float scale_at(const uint8_t* bytes) {
  F16 scale;
  std::memcpy(&scale, bytes, sizeof(scale));
  return static_cast<float>(scale);
}

const uint8_t* bytes_of(const std::byte* blocks) {
  return reinterpret_cast<const uint8_t*>(blocks);
}

struct Group {
  int scale, offset;
};
// The first four groups have their 6 bits in one byte each. The others have 4 bits in the last
// bytes, and their upper two bits above those of the first.
Group group_at(const uint8_t* packed, int i) {
  if (i < 4) return {packed[i] & 63, packed[i + 4] & 63};
  return {(packed[i + 4] & 15) | (packed[i - 4] >> 2 & 48),
          (packed[i + 4] >> 4) | (packed[i] >> 2 & 48)};
}

constexpr int kGroups = 8, kGroup = kValues / kGroups;

// The scale and the offset of each of the groups.
void groups_of(const uint8_t* block, float* scales, float* offsets) {
  const float d = scale_at(block), m = scale_at(block + 2);
  for (int i = 0; i < kGroups; ++i) {
    const Group group = group_at(block + 4, i);
    scales[i] = d * static_cast<float>(group.scale);
    offsets[i] = -m * static_cast<float>(group.offset);
  }
}
template <int kBlockBytes>
void groups_of_blocks(const std::byte* blocks, int64_t num_blocks, float* scales, float* offsets) {
  for (int64_t i = 0; i < num_blocks; ++i)
    groups_of(bytes_of(blocks) + i * kBlockBytes, scales + i * kGroups, offsets + i * kGroups);
}

template <bool kHasHighBits>
void values_of_groups(const std::byte* blocks, int64_t num_blocks, float* values) {
  constexpr int kHigh = 16, kLow = kHigh + (kHasHighBits ? kGroup : 0),
                kBlockBytes = kLow + kValues / 2;
  const uint8_t* block = bytes_of(blocks);
  for (; num_blocks > 0; --num_blocks, block += kBlockBytes) {
    float scales[kGroups], offsets[kGroups];
    groups_of(block, scales, offsets);
    for (int i = 0; i < kGroups; ++i, values += kGroup) {
      // Two groups share 32 bytes: the even one has their low halves.
      const uint8_t* low = block + kLow + i / 2 * kGroup;
      const int shift = i % 2 * 4;
      for (int k = 0; k < kGroup; ++k) {
        int q = low[k] >> shift & 15;
        if constexpr (kHasHighBits) q |= (block[kHigh + k] >> i & 1) << 4;
        values[k] = scales[i] * static_cast<float>(q) + offsets[i];
      }
    }
  }
}

}  // namespace

void q4_k_values(const std::byte* blocks, int64_t num_blocks, float* values) {
  values_of_groups<false>(blocks, num_blocks, values);
}
void q5_k_values(const std::byte* blocks, int64_t num_blocks, float* values) {
  values_of_groups<true>(blocks, num_blocks, values);
}

void q4_k_groups(const std::byte* blocks, int64_t num_blocks, float* scales, float* offsets) {
  groups_of_blocks<144>(blocks, num_blocks, scales, offsets);
}
void q5_k_groups(const std::byte* blocks, int64_t num_blocks, float* scales, float* offsets) {
  groups_of_blocks<176>(blocks, num_blocks, scales, offsets);
}

namespace {
constexpr int kSmallGroup = 16, kHigh = kValues / 2, kScales = kHigh + kValues / 4,
              kScale = kScales + kValues / kSmallGroup, kQ6Bytes = kScale + 2;
}

void q6_k_groups(const std::byte* blocks, int64_t num_blocks, float* scales, float* offsets) {
  const uint8_t* block = bytes_of(blocks);
  for (; num_blocks > 0; --num_blocks, block += kQ6Bytes) {
    const float d = scale_at(block + kScale);
    for (int i = 0; i < kValues / kSmallGroup; ++i) {
      *scales = d * static_cast<float>(static_cast<int8_t>(block[kScales + i]));
      *offsets++ = -32 * *scales++;
    }
  }
}

void q6_k_values(const std::byte* blocks, int64_t num_blocks, float* values) {
  constexpr int kRun = 32;
  const uint8_t* block = bytes_of(blocks);
  for (; num_blocks > 0; --num_blocks, block += kQ6Bytes) {
    const float d = scale_at(block + kScale);
    // Each half of the block has four runs of 32 values: the low and the high halves of 64 bytes,
    // and one pair of bits each of the same 32 bytes.
    for (int run = 0; run < kValues / kRun; ++run) {
      const int half = run / 4, part = run % 4;
      const uint8_t* low = block + half * 64 + part % 2 * kRun;
      const uint8_t* high = block + kHigh + half * kRun;
      for (int group = 0; group < kRun / kSmallGroup; ++group, values += kSmallGroup) {
        const auto scale = static_cast<int8_t>(block[kScales + run * 2 + group]);
        const float s = d * static_cast<float>(scale);
        for (int k = 0; k < kSmallGroup; ++k) {
          const int at = group * kSmallGroup + k;
          const int q = (low[at] >> (part / 2 * 4) & 15) | (high[at] >> (part * 2) & 3) << 4;
          values[k] = s * static_cast<float>(q - 32);
        }
      }
    }
  }
}

}  // namespace axle
