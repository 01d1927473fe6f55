// The bytes of a file from its beginning to its end, decompressed if it is a gzip or a zstd file.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

namespace axle {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Fills `into` as far as there are bytes, and returns their number; 0 at the end. Throws
  /// StorageError with the offset in the file if it is damaged or cut off.
  virtual size_t read(std::span<char> into) = 0;
};

/// Opens a regular file. Its first bytes tell whether it is compressed, not its name. Several gzip
/// members or zstd frames are read one after the other. Throws StorageError as FileReader does.
std::unique_ptr<ByteStream> open_stream(const std::filesystem::path& path);

}  // namespace axle
