// The header of a GGUF file: everything before the tensors' bytes.
//
// Layout, little-endian; a text is its u64 length and its bytes:
//   "GGUF", u32 version, u64 number of tensors, u64 number of keys
//   each key:     text, u32 type, value; an array: u32 type of its elements, u64 count, elements
//   each tensor:  text, u32 number of dims, u64 each dim (the fastest first), u32 block type,
//                 u64 offset of its bytes
// The bytes of the first tensor begin at the next multiple of the alignment, 32 or what the key
// "general.alignment" says. Offsets count from there and are multiples of it too.
#pragma once

#include <cstdint>

#include "base/tree.h"
#include "io/file_reader.h"
#include "io/gguf/block_type.h"
#include "io/gguf/gguf_value.h"
#include "ir/type.h"

namespace axle {

inline constexpr std::string_view kGgufMagic = "GGUF", kGgufAlignmentKey = "general.alignment";
inline constexpr uint32_t kGgufVersion = 3;  // that is written; 2 is read too
inline constexpr int64_t kGgufDefaultAlignment = 32;
inline constexpr size_t kMaxGgufDims = 4;

/// A tensor of a file.
struct GgufTensor {
  const BlockType* type;
  /// Row-major: the last dim varies fastest.
  Shape shape;
  /// In the file.
  int64_t offset = 0, num_bytes = 0;
};

struct GgufHeader {
  uint32_t version = 0;
  GgufMetadata metadata;
  Tree<GgufTensor> tensors;
};

/// Returns the bytes of a tensor; none if the last dim is not a multiple of the values of a block,
/// or if there are too many.
std::optional<int64_t> gguf_tensor_bytes(const BlockType& type, const Shape& shape);

/// Returns the alignment that the metadata says. Throws DataError unless it is a power of two.
int64_t gguf_alignment(const GgufMetadata& metadata);

/// Reads and checks the whole header. Throws DataError that says what the file is if it is not
/// GGUF, and DataError with file and offset if the header is cut off or malformed, repeats a key or
/// a tensor, has an unknown type, or if tensors overlap or reach past the end of the file. Needs
/// memory for at most 100 MB of header, and 8 nested arrays.
GgufHeader read_gguf_header(const FileReader& file);

}  // namespace axle
