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

#include "ir/dtype.h"

namespace axle {

/// The numbers of a block as value = scale * code + offset, exactly: products and sums in f32.
struct BlockGroups {
  int64_t size = 0;  // neighbours in a row that share a scale and an offset; 0: not of this form
  int64_t bits = 0;  // of a code, which is not negative
  DType scale_dtype = DType::kF32;  // holds every scale and offset of its range exactly
  /// Computes the scales and the offsets of the groups of whole blocks.
  void (*read)(const std::byte* blocks, int64_t num_blocks, float* scales,
               float* offsets) = nullptr;
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
