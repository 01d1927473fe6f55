// GGUF files (llama.cpp and its family): metadata and named tensors, which are read on demand.
// Versions 2 and 3, little-endian.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree.h"
#include "io/file_reader.h"
#include "io/gguf/block_type.h"
#include "io/gguf/gguf_value.h"
#include "ir/host_tensor.h"
#include "ir/type.h"

namespace axle {

// The header of a GGUF file: everything before the tensors' bytes.
//
// Layout, little-endian; a text is its u64 length and its bytes:
//   "GGUF", u32 version, u64 number of tensors, u64 number of keys
//   each key:     text, u32 type, value; an array: u32 type of its elements, u64 count, elements
//   each tensor:  text, u32 number of dims, u64 each dim (the fastest first), u32 block type,
//                 u64 offset of its bytes
// The bytes of the first tensor begin at the next multiple of the alignment, 32 or what the key
// "general.alignment" says. Offsets count from there and are multiples of it too.

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

/// True for a regular file that begins as GGUF files do, or whose name ends in ".gguf".
bool is_gguf(const std::filesystem::path& path);

/// An open file. Its whole header is checked at construction (read_gguf_header); tensors are read
/// when requested. May be used from any thread.
class GgufFile {
 public:
  /// Throws DataError as read_gguf_header does, and if the file can't be opened.
  explicit GgufFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  const GgufHeader& header() const { return header_; }
  uint32_t version() const { return header_.version; }
  const GgufMetadata& metadata() const { return header_.metadata; }
  /// Returns the names, sorted.
  std::vector<std::string> names() const;
  bool contains(std::string_view name) const { return header_.tensors.contains(name); }
  /// Throws DataError if the tensor does not exist.
  const GgufTensor& tensor(std::string_view name) const;
  /// Returns the type of what get() returns: f32 for blocks. Throws DataError if the tensor does
  /// not exist, or if Axle lacks its block type.
  Type type(std::string_view name) const;
  /// Returns a copy; blocks are dequantised. Throws as type() does, StorageError if the file can't
  /// be read any more, and Error with kDoesNotFit if the host lacks the memory.
  HostTensor get(std::string_view name) const;
  /// Returns rows [begin, end) of a tensor of rank 1 or more, along its first dim, and reads no
  /// others. A tensor of rank 1 of blocks must be cut at their ends.
  HostTensor get_rows(std::string_view name, int64_t begin, int64_t end) const;
  /// Returns the bytes of a tensor as they are in the file.
  std::vector<std::byte> get_blocks(std::string_view name) const;
  /// Returns the bytes of rows [begin, end), as get_rows does, and reads no others.
  std::vector<std::byte> get_blocks(std::string_view name, int64_t begin, int64_t end) const;

 private:
  HostTensor read(const GgufTensor& tensor, std::string_view name, int64_t first_value,
                  Shape shape) const;
  std::vector<std::byte> read_blocks(std::string_view name, int64_t begin, int64_t num_bytes) const;

  FileReader file_;
  GgufHeader header_;
};

}  // namespace axle
