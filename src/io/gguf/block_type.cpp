#include "io/gguf/block_type.h"

#include <algorithm>
#include <iterator>

#include "io/gguf/k_blocks.h"
#include "io/gguf/plain_numbers.h"
#include "io/gguf/small_blocks.h"

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

}  // namespace axle
