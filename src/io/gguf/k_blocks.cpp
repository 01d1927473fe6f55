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

// The places of a block of groups of 32.
template <bool kHasHighBits>
struct Places {
  static constexpr int kHigh = 16, kLow = kHigh + (kHasHighBits ? kGroup : 0),
                       kBytes = kLow + kValues / 2;
};

template <bool kHasHighBits>
void codes_of_block(const uint8_t* block, uint8_t* codes) {
  using At = Places<kHasHighBits>;
  for (int i = 0; i < kGroups; ++i, codes += kGroup) {
    // Two groups share 32 bytes: the even one has their low halves.
    const uint8_t* low = block + At::kLow + i / 2 * kGroup;
    const int shift = i % 2 * 4;
    for (int k = 0; k < kGroup; ++k) {
      int q = low[k] >> shift & 15;
      if constexpr (kHasHighBits) q |= (block[At::kHigh + k] >> i & 1) << 4;
      codes[k] = static_cast<uint8_t>(q);
    }
  }
}

template <bool kHasHighBits>
void values_of_groups(const std::byte* blocks, int64_t num_blocks, float* values) {
  const uint8_t* block = bytes_of(blocks);
  for (; num_blocks > 0; --num_blocks, block += Places<kHasHighBits>::kBytes) {
    const float d = scale_at(block), m = scale_at(block + 2);
    uint8_t codes[kValues];
    codes_of_block<kHasHighBits>(block, codes);
    for (int i = 0; i < kGroups; ++i) {
      const Group group = group_at(block + 4, i);
      const float scale = d * static_cast<float>(group.scale),
                  offset = -m * static_cast<float>(group.offset);
      for (int k = 0; k < kGroup; ++k)
        *values++ = scale * static_cast<float>(codes[i * kGroup + k]) + offset;
    }
  }
}

// The block's m is subtracted, so that its sign changes.
template <bool kHasHighBits>
void split_blocks(const std::byte* blocks, int64_t num_blocks, GroupNumbers out) {
  constexpr uint16_t kSign = 0x8000;
  const uint8_t* block = bytes_of(blocks);
  for (; num_blocks > 0; --num_blocks, block += Places<kHasHighBits>::kBytes) {
    std::memcpy(out.scales++, block, sizeof(F16));
    std::memcpy(out.offsets, block + 2, sizeof(F16));
    out.offsets++->bits ^= kSign;
    for (int i = 0; i < kGroups; ++i) {
      const Group group = group_at(block + 4, i);
      *out.small_scales++ = static_cast<int8_t>(group.scale);
      *out.small_offsets++ = static_cast<int8_t>(group.offset);
    }
    codes_of_block<kHasHighBits>(block, out.codes);
    out.codes += kValues;
  }
}

constexpr int kSmallGroup = 16, kHigh = kValues / 2, kScalesAt = kHigh + kValues / 4,
              kScaleAt = kScalesAt + kValues / kSmallGroup, kQ6Bytes = kScaleAt + 2;

// Each half of a block has four runs of 32 values: the low and the high halves of 64 bytes, and one
// pair of bits each of the same 32 bytes.
void codes_of_q6_block(const uint8_t* block, uint8_t* codes) {
  constexpr int kRun = 32;
  for (int run = 0; run < kValues / kRun; ++run) {
    const int half = run / 4, part = run % 4;
    const uint8_t* low = block + half * 64 + part % 2 * kRun;
    const uint8_t* high = block + kHigh + half * kRun;
    for (int k = 0; k < kRun; ++k)
      *codes++ =
          static_cast<uint8_t>((low[k] >> (part / 2 * 4) & 15) | (high[k] >> (part * 2) & 3) << 4);
  }
}

}  // namespace

void q4_k_values(const std::byte* blocks, int64_t num_blocks, float* values) {
  values_of_groups<false>(blocks, num_blocks, values);
}
void q5_k_values(const std::byte* blocks, int64_t num_blocks, float* values) {
  values_of_groups<true>(blocks, num_blocks, values);
}
void q6_k_values(const std::byte* blocks, int64_t num_blocks, float* values) {
  const uint8_t* block = bytes_of(blocks);
  for (; num_blocks > 0; --num_blocks, block += kQ6Bytes) {
    const float d = scale_at(block + kScaleAt);
    uint8_t codes[kValues];
    codes_of_q6_block(block, codes);
    for (int i = 0; i < kValues; ++i) {
      const auto scale = static_cast<int8_t>(block[kScalesAt + i / kSmallGroup]);
      *values++ = d * static_cast<float>(scale) * static_cast<float>(codes[i] - 32);
    }
  }
}

void q4_k_groups(const std::byte* blocks, int64_t num_blocks, GroupNumbers out) {
  split_blocks<false>(blocks, num_blocks, out);
}
void q5_k_groups(const std::byte* blocks, int64_t num_blocks, GroupNumbers out) {
  split_blocks<true>(blocks, num_blocks, out);
}
void q6_k_groups(const std::byte* blocks, int64_t num_blocks, GroupNumbers out) {
  const uint8_t* block = bytes_of(blocks);
  for (; num_blocks > 0; --num_blocks, block += kQ6Bytes) {
    std::memcpy(out.scales++, block + kScaleAt, sizeof(F16));
    std::memcpy(out.small_scales, block + kScalesAt, kValues / kSmallGroup);
    out.small_scales += kValues / kSmallGroup;
    codes_of_q6_block(block, out.codes);
    out.codes += kValues;
  }
}

}  // namespace axle
