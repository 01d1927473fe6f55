// GGUF files (llama.cpp and its family): metadata and named tensors, which are read on demand.
// Versions 2 and 3, little-endian.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/gguf/gguf_header.h"
#include "ir/host_tensor.h"

namespace axle {

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
  /// Returns those of rows [begin, end), as get_rows does, and reads no others.
  std::vector<std::byte> get_blocks(std::string_view name, int64_t begin, int64_t end) const;

 private:
  HostTensor read(const GgufTensor& tensor, std::string_view name, int64_t first_value,
                  Shape shape) const;
  std::vector<std::byte> read_blocks(std::string_view name, int64_t begin, int64_t num_bytes) const;

  FileReader file_;
  GgufHeader header_;
};

}  // namespace axle
