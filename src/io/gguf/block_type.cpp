#include "io/gguf/block_type.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "ir/dtype.h"

namespace axle {
namespace {

constexpr CodeScheme scaled(CodeBits bits) {
  return {.bits = bits, .group = 32, .scales = ScaleForm::kF16, .offsets = OffsetForm::kMiddle};
}
constexpr CodeScheme shifted(CodeBits bits) {
  return {.bits = bits, .group = 32, .scales = ScaleForm::kF16, .offsets = OffsetForm::kOwn};
}
constexpr CodeScheme shifted_k(CodeBits bits) {
  return {.bits = bits, .group = 32, .scales = ScaleForm::kI8, .offsets = OffsetForm::kOwn};
}
constexpr CodeScheme kQ6K{
    .bits = CodeBits::kSix, .group = 16, .scales = ScaleForm::kI8, .offsets = OffsetForm::kMiddle};

// The numbers left out are of types that the format has dropped.
constexpr BlockType kTypes[] = {
    {0, "F32", 1, 4, DType::kF32, f32_values, f32_numbers},
    {1, "F16", 1, 2, DType::kF16, f16_values, f16_numbers},
    {2, "Q4_0", 32, 18, {}, q4_0_values, nullptr, {scaled(CodeBits::kFour), q4_0_groups}},
    {3, "Q4_1", 32, 20, {}, q4_1_values, nullptr, {shifted(CodeBits::kFour), q4_1_groups}},
    {6, "Q5_0", 32, 22, {}, q5_0_values, nullptr, {scaled(CodeBits::kFive), q5_0_groups}},
    {7, "Q5_1", 32, 24, {}, q5_1_values, nullptr, {shifted(CodeBits::kFive), q5_1_groups}},
    {8, "Q8_0", 32, 34, {}, q8_0_values, q8_0_blocks, {scaled(CodeBits::kEight), q8_0_groups}},
    {9, "Q8_1", 32, 40},
    {10, "Q2_K", 256, 84},
    {11, "Q3_K", 256, 110},
    {12, "Q4_K", 256, 144, {}, q4_k_values, nullptr, {shifted_k(CodeBits::kFour), q4_k_groups}},
    {13, "Q5_K", 256, 176, {}, q5_k_values, nullptr, {shifted_k(CodeBits::kFive), q5_k_groups}},
    {14, "Q6_K", 256, 210, {}, q6_k_values, nullptr, {kQ6K, q6_k_groups}},
    {15, "Q8_K", 256, 292},
    {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98},
    {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", 32, 18},
    {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136},
    {24, "I8", 1, 1, DType::kI8, i8_values},
    {25, "I16", 1, 2, DType::kI16, i16_values},
    {26, "I32", 1, 4, DType::kI32, i32_values},
    {27, "I64", 1, 8, DType::kI64, i64_values},
    {28, "F64", 1, 8, DType::kF64, f64_values},
    {29, "IQ1_M", 256, 56},
    {30, "BF16", 1, 2, DType::kBF16, bf16_values, bf16_numbers},
    {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66},
    {39, "MXFP4", 32, 17},
    {40, "NVFP4", 64, 36},
    {41, "Q1_0", 128, 18},
};

std::string names_where(bool (*is_listed)(const BlockType&)) {
  std::string out;
  for (const BlockType& type : kTypes) {
    if (is_listed(type)) (out += out.empty() ? "" : ", ") += type.name;
  }
  return out;
}

}  // namespace

std::span<const BlockType> all_block_types() { return kTypes; }

const BlockType* find_block_type(uint32_t id) {
  const auto* const type = std::ranges::find(kTypes, id, &BlockType::id);
  return type == std::end(kTypes) ? nullptr : type;
}

const BlockType* find_block_type(std::string_view name) {
  const auto* const type = std::ranges::find(kTypes, name, &BlockType::name);
  return type == std::end(kTypes) ? nullptr : type;
}

std::string readable_block_types() {
  return names_where([](const BlockType& type) { return type.dequantize != nullptr; });
}

std::string writable_block_types() {
  return names_where([](const BlockType& type) { return type.quantize != nullptr; });
}

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
// bytes, and their upper two bits above the bits of the first.
Group group_at(const uint8_t* packed, int i) {
  if (i < 4) return {packed[i] & 63, packed[i + 4] & 63};
  return {(packed[i + 4] & 15) | (packed[i - 4] >> 2 & 48),
          (packed[i + 4] >> 4) | (packed[i] >> 2 & 48)};
}

constexpr int kGroups = 8, kGroup = kValues / kGroups;

// The offsets in a block of groups of 32.
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

namespace {

constexpr int kSmallValues = 32, kHalf = kSmallValues / 2, kScaleBytes = 2;

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
  for (int64_t i = 0; i < num_blocks; ++i) one(blocks + i * kBlockBytes, values + i * kSmallValues);
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
    unpack<kHasHighBits>(blocks + kCodes, out.codes + i * kSmallValues,
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
  for (int64_t i = 0; i < num_blocks; ++i, blocks += kScaleBytes + kSmallValues) {
    std::memcpy(out.scales + i, blocks, kScaleBytes);
    for (int k = 0; k < kSmallValues; ++k)
      out.codes[i * kSmallValues + k] =
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
    for (int i = 0; i < kSmallValues; ++i)
      out[i] = d * static_cast<float>(static_cast<int8_t>(block[kScaleBytes + i]));
  });
}

void q8_0_blocks(const float* values, int64_t num_blocks, std::byte* blocks) {
  for (int64_t b = 0; b < num_blocks; ++b, values += kSmallValues) {
    float largest = 0;
    for (int i = 0; i < kSmallValues; ++i) largest = std::max(largest, std::abs(values[i]));
    const float d = largest / 127, inverse = d == 0 ? 0 : 1 / d;
    const F16 scale(d);
    std::memcpy(blocks, &scale, kScaleBytes);
    blocks += kScaleBytes;
    // The inverse overflows where d is far below every f16: such values are stored as zeros.
    for (int i = 0; i < kSmallValues; ++i) {
      const float q = std::isfinite(inverse) ? std::round(values[i] * inverse) : 0;
      *blocks++ = static_cast<std::byte>(static_cast<int8_t>(q));
    }
  }
}

namespace {

template <class T>
void to_values(const std::byte* numbers, int64_t n, float* values) {
  for (int64_t i = 0; i < n; ++i) {
    T number;
    std::memcpy(&number, numbers + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    values[i] = convert_element<float>(number);
  }
}

template <class T>
void to_numbers(const float* values, int64_t n, std::byte* numbers) {
  for (int64_t i = 0; i < n; ++i) {
    const T number = convert_element<T>(values[i]);
    std::memcpy(numbers + i * static_cast<int64_t>(sizeof(T)), &number, sizeof(T));
  }
}

}  // namespace

void f32_values(const std::byte* numbers, int64_t n, float* values) {
  to_values<float>(numbers, n, values);
}
void f16_values(const std::byte* numbers, int64_t n, float* values) {
  to_values<F16>(numbers, n, values);
}
void bf16_values(const std::byte* numbers, int64_t n, float* values) {
  to_values<BF16>(numbers, n, values);
}
void f64_values(const std::byte* numbers, int64_t n, float* values) {
  to_values<double>(numbers, n, values);
}
void i8_values(const std::byte* numbers, int64_t n, float* values) {
  to_values<int8_t>(numbers, n, values);
}
void i16_values(const std::byte* numbers, int64_t n, float* values) {
  to_values<int16_t>(numbers, n, values);
}
void i32_values(const std::byte* numbers, int64_t n, float* values) {
  to_values<int32_t>(numbers, n, values);
}
void i64_values(const std::byte* numbers, int64_t n, float* values) {
  to_values<int64_t>(numbers, n, values);
}

void f32_numbers(const float* values, int64_t n, std::byte* numbers) {
  to_numbers<float>(values, n, numbers);
}
void f16_numbers(const float* values, int64_t n, std::byte* numbers) {
  to_numbers<F16>(values, n, numbers);
}
void bf16_numbers(const float* values, int64_t n, std::byte* numbers) {
  to_numbers<BF16>(values, n, numbers);
}

}  // namespace axle
