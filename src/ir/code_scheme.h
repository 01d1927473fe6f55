// How numbers are kept as small whole numbers of which neighbours share a scale: in products
// (QuantizedProduct) and in the blocks of GGUF files.
//
// Source: the block types of ggml, each of which is a scheme below.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "ir/dtype.h"

namespace axle {

/// Bits of a code, which is not negative.
enum class CodeBits : int64_t { kFour = 4, kFive = 5, kSix = 6, kEight = 8 };
constexpr auto texts_of(CodeBits) {
  return std::to_array<EnumText<CodeBits>>({{CodeBits::kFour, "4"},
                                            {CodeBits::kFive, "5"},
                                            {CodeBits::kSix, "6"},
                                            {CodeBits::kEight, "8"}});
}

/// The numbers of a group. kI8: whole numbers of 8 bits, times an f16 that a block of kScaleBlock
/// neighbours shares.
enum class ScaleForm { kF16, kF32, kI8 };
constexpr auto texts_of(ScaleForm) {
  return std::to_array<EnumText<ScaleForm>>(
      {{ScaleForm::kF16, "f16"}, {ScaleForm::kF32, "f32"}, {ScaleForm::kI8, "i8"}});
}
constexpr int64_t kScaleBlock = 256;

/// What is added. kOwn: an offset of each group, in the form of the scales. kMiddle: nothing; the
/// code in the middle, 2^(bits - 1), stands for 0.
enum class OffsetForm { kOwn, kMiddle };
constexpr auto texts_of(OffsetForm) {
  return std::to_array<EnumText<OffsetForm>>(
      {{OffsetForm::kOwn, "own"}, {OffsetForm::kMiddle, "middle"}});
}

/// value = scale * code + offset, or scale * (code - 2^(bits - 1)), in f32.
struct CodeScheme {
  CodeBits bits = CodeBits::kFour;
  int64_t group = 32;  // neighbours that share a scale and an offset
  ScaleForm scales = ScaleForm::kF16;
  OffsetForm offsets = OffsetForm::kOwn;
  bool operator==(const CodeScheme&) const = default;

  int64_t num_bits() const { return static_cast<int64_t>(bits); }
  /// The code for 0; 0 if groups have offsets.
  int64_t zero() const {
    return offsets == OffsetForm::kMiddle ? int64_t{1} << (num_bits() - 1) : 0;
  }
  /// All parts together, for each number.
  double bits_per_number() const;
};

/// A tensor of coded numbers: `numbers` neighbours have one element of it.
struct CodePart {
  std::string_view name;
  DType dtype;
  int64_t numbers;
};
/// The names of parts.
inline constexpr std::string_view kCodes = "codes", kScales = "scales", kOffsets = "offsets",
                                  kBlockScales = "block_scales", kBlockOffsets = "block_offsets";
/// Returns the parts that a scheme has: codes, u8, one in a byte; scales; offsets, if groups have
/// their own; and what blocks share.
std::vector<CodePart> parts_of(const CodeScheme& scheme);

/// True if every number of `stored` is one of `wide` as well, up to the range of f16.
bool holds(const CodeScheme& wide, const CodeScheme& stored);
/// Returns the smallest scheme that holds both.
CodeScheme joined(const CodeScheme& a, const CodeScheme& b);

}  // namespace axle
