// How GGUF files store the numbers of a tensor: as plain numbers, or as blocks of neighbours in a
// row that share scales.
//
// Source: the formulas and layouts of ggml's block types; the values are bit for bit those of the
// Python package gguf (gguf.quants).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/code_scheme.h"
#include "ir/dtype.h"

namespace axle {

/// What BlockGroups::read fills: a code for each number, and a scale and an offset for each group,
/// as the scheme has them. Offsets of the middle are not filled.
struct GroupNumbers {
  uint8_t* codes = nullptr;
  F16 *scales = nullptr, *offsets = nullptr;                 // of groups; ScaleForm::kI8: of blocks
  int8_t *small_scales = nullptr, *small_offsets = nullptr;  // of groups; ScaleForm::kI8 alone
};
/// The numbers of a block as codes, exactly: products and sums in f32.
struct BlockGroups {
  /// none: they have another form.
  std::optional<CodeScheme> scheme = {};
  /// Splits whole blocks. Blocks of ScaleForm::kI8 hold kScaleBlock numbers.
  void (*read)(const std::byte* blocks, int64_t num_blocks, GroupNumbers out) = nullptr;
};

struct BlockType {
  uint32_t id;                      // in the file
  std::string_view name;            // "Q4_K"
  int64_t num_values, num_bytes;    // of one block
  std::optional<DType> dtype = {};  // of plain numbers; none: blocks
  /// Computes the values of whole blocks; nullptr: Axle lacks the type.
  void (*dequantize)(const std::byte* blocks, int64_t num_blocks, float* values) = nullptr;
  /// Stores finite values in whole blocks; nullptr: Axle does not write the type.
  void (*quantize)(const float* values, int64_t num_blocks, std::byte* blocks) = nullptr;
  BlockGroups groups = {};
};

/// Returns the types of the format, including those that Axle lacks.
std::span<const BlockType> all_block_types();
/// Returns nullptr for an unknown number or name.
const BlockType* find_block_type(uint32_t id);
const BlockType* find_block_type(std::string_view name);
/// Returns the names of the types that have a dequantize function, or a quantize function, for
/// messages: "F32, F16, ...".
std::string readable_block_types();
std::string writable_block_types();

// Blocks of 256 values whose groups have scales of their own ("K" types). The scales of groups are
// multiples of the block's d, and their offsets of its m; d and m are f16.
//
//   Q4_K  d, m, 12 bytes of 8 scales and 8 offsets of 6 bits, 128 bytes of two 4-bit q
//         group of 32: d scale q - m offset
//   Q5_K  as Q4_K, with 32 bytes of fifth bits before the halves
//   Q6_K  128 bytes of low halves, 64 bytes of two high bits, 16 signed scales, d
//         group of 16: d scale (q - 32)

void q4_k_values(const std::byte* blocks, int64_t num_blocks, float* values);
void q5_k_values(const std::byte* blocks, int64_t num_blocks, float* values);
void q6_k_values(const std::byte* blocks, int64_t num_blocks, float* values);

/// Split blocks into codes and scales (BlockGroups).
void q4_k_groups(const std::byte* blocks, int64_t num_blocks, GroupNumbers out);
void q5_k_groups(const std::byte* blocks, int64_t num_blocks, GroupNumbers out);
void q6_k_groups(const std::byte* blocks, int64_t num_blocks, GroupNumbers out);

// Blocks of 32 values: q * d, or q * d + m. d and m are f16.
//
//   Q4_0  d, 16 bytes of two 4-bit q          value (q - 8) d
//   Q4_1  d, m, 16 bytes                      q d + m
//   Q5_0  d, 32 high bits, 16 bytes           (q - 16) d
//   Q5_1  d, m, 32 high bits, 16 bytes        q d + m
//   Q8_0  d, 32 signed bytes                  q d
// The low half of byte i is of value i, the high half of value i + 16.

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

void f32_values(const std::byte* numbers, int64_t n, float* values);
void f16_values(const std::byte* numbers, int64_t n, float* values);
void bf16_values(const std::byte* numbers, int64_t n, float* values);
void f64_values(const std::byte* numbers, int64_t n, float* values);
void i8_values(const std::byte* numbers, int64_t n, float* values);
void i16_values(const std::byte* numbers, int64_t n, float* values);
void i32_values(const std::byte* numbers, int64_t n, float* values);
void i64_values(const std::byte* numbers, int64_t n, float* values);

/// Round to the nearest number, ties to even.
void f32_numbers(const float* values, int64_t n, std::byte* numbers);
void f16_numbers(const float* values, int64_t n, std::byte* numbers);
void bf16_numbers(const float* values, int64_t n, std::byte* numbers);

}  // namespace axle
