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
#include "ir/small_float.h"

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
  /// Splits whole blocks. Those of ScaleForm::kI8 hold kScaleBlock numbers.
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

}  // namespace axle
