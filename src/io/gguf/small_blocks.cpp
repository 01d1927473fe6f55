#include "io/gguf/small_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/small_float.h"

namespace axle {
namespace {

constexpr int kValues = 32, kHalf = kValues / 2, kScaleBytes = 2;

float scale_at(const std::byte* bytes) {
  F16 scale;
  std::memcpy(&scale, bytes, kScaleBytes);
  return static_cast<float>(scale);
}

int low(std::byte b) { return std::to_integer<int>(b & std::byte{0x0f}); }
int high(std::byte b) { return std::to_integer<int>(b >> 4); }

// Calls one(block, values) for each block.
template <int kBlockBytes, class Fn>
void for_each_block(const std::byte* blocks, int64_t num_blocks, float* values, Fn one) {
  for (int64_t i = 0; i < num_blocks; ++i) one(blocks + i * kBlockBytes, values + i * kValues);
}

// Sets the 32 values from 4-bit halves and, where there are, a fifth bit each.
template <bool kHasHighBits, class T, class Fn>
void unpack(const std::byte* bytes, T* values, Fn value_of) {
  uint32_t high_bits = 0;
  if constexpr (kHasHighBits) {
    std::memcpy(&high_bits, bytes, sizeof(high_bits));
    bytes += sizeof(high_bits);
  }
  for (int i = 0; i < kHalf; ++i) {
    const int fifth = static_cast<int>(high_bits >> i & 1) << 4,
              other_fifth = static_cast<int>(high_bits >> (i + kHalf) & 1) << 4;
    values[i] = value_of(low(bytes[i]) | fifth);
    values[i + kHalf] = value_of(high(bytes[i]) | other_fifth);
  }
}

// Values (q - kZero) d.
template <bool kHasHighBits, int kZero>
void scaled(const std::byte* block, float* values) {
  const float d = scale_at(block);
  unpack<kHasHighBits>(block + kScaleBytes, values,
                       [d](int q) { return d * static_cast<float>(q - kZero); });
}

// Values q d + m.
template <bool kHasHighBits>
void scaled_and_shifted(const std::byte* block, float* values) {
  const float d = scale_at(block), m = scale_at(block + kScaleBytes);
  unpack<kHasHighBits>(block + 2 * kScaleBytes, values,
                       [d, m](int q) { return d * static_cast<float>(q) + m; });
}

// The codes, the scale and, where there is one, the offset of each block.
template <bool kHasHighBits, bool kHasOffset>
void codes_and_scales(const std::byte* blocks, int64_t num_blocks, GroupNumbers out) {
  constexpr int kCodes = (kHasOffset ? 2 : 1) * kScaleBytes;
  constexpr int kBlockBytes = kCodes + (kHasHighBits ? 4 : 0) + kHalf;
  for (int64_t i = 0; i < num_blocks; ++i, blocks += kBlockBytes) {
    std::memcpy(out.scales + i, blocks, kScaleBytes);
    if constexpr (kHasOffset) std::memcpy(out.offsets + i, blocks + kScaleBytes, kScaleBytes);
    unpack<kHasHighBits>(blocks + kCodes, out.codes + i * kValues,
                         [](int q) { return static_cast<uint8_t>(q); });
  }
}

}  // namespace

void q4_0_groups(const std::byte* blocks, int64_t num_blocks, GroupNumbers out) {
  codes_and_scales<false, false>(blocks, num_blocks, out);
}
void q4_1_groups(const std::byte* blocks, int64_t num_blocks, GroupNumbers out) {
  codes_and_scales<false, true>(blocks, num_blocks, out);
}
void q5_0_groups(const std::byte* blocks, int64_t num_blocks, GroupNumbers out) {
  codes_and_scales<true, false>(blocks, num_blocks, out);
}
void q5_1_groups(const std::byte* blocks, int64_t num_blocks, GroupNumbers out) {
  codes_and_scales<true, true>(blocks, num_blocks, out);
}
// Signed numbers become codes around the middle.
void q8_0_groups(const std::byte* blocks, int64_t num_blocks, GroupNumbers out) {
  for (int64_t i = 0; i < num_blocks; ++i, blocks += kScaleBytes + kValues) {
    std::memcpy(out.scales + i, blocks, kScaleBytes);
    for (int k = 0; k < kValues; ++k)
      out.codes[i * kValues + k] =
          std::to_integer<uint8_t>(blocks[kScaleBytes + k] ^ std::byte{128});
  }
}

void q4_0_values(const std::byte* blocks, int64_t num_blocks, float* values) {
  for_each_block<18>(blocks, num_blocks, values, scaled<false, 8>);
}
void q4_1_values(const std::byte* blocks, int64_t num_blocks, float* values) {
  for_each_block<20>(blocks, num_blocks, values, scaled_and_shifted<false>);
}
void q5_0_values(const std::byte* blocks, int64_t num_blocks, float* values) {
  for_each_block<22>(blocks, num_blocks, values, scaled<true, 16>);
}
void q5_1_values(const std::byte* blocks, int64_t num_blocks, float* values) {
  for_each_block<24>(blocks, num_blocks, values, scaled_and_shifted<true>);
}

void q8_0_values(const std::byte* blocks, int64_t num_blocks, float* values) {
  for_each_block<34>(blocks, num_blocks, values, [](const std::byte* block, float* out) {
    const float d = scale_at(block);
    for (int i = 0; i < kValues; ++i)
      out[i] = d * static_cast<float>(static_cast<int8_t>(block[kScaleBytes + i]));
  });
}

void q8_0_blocks(const float* values, int64_t num_blocks, std::byte* blocks) {
  for (int64_t b = 0; b < num_blocks; ++b, values += kValues) {
    float largest = 0;
    for (int i = 0; i < kValues; ++i) largest = std::max(largest, std::abs(values[i]));
    const float d = largest / 127, inverse = d == 0 ? 0 : 1 / d;
    const F16 scale(d);
    std::memcpy(blocks, &scale, kScaleBytes);
    blocks += kScaleBytes;
    // The inverse overflows where d is far below every f16: such values are stored as zeros.
    for (int i = 0; i < kValues; ++i) {
      const float q = std::isfinite(inverse) ? std::round(values[i] * inverse) : 0;
      *blocks++ = static_cast<std::byte>(static_cast<int8_t>(q));
    }
  }
}

}  // namespace axle
