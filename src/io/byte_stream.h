// The bytes of a file from its beginning to its end, decompressed if it is a gzip or a zstd file.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace axle {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Fills `into` as far as there are bytes, and returns their number; 0 at the end. Throws
  /// StorageError with the offset in the file if it is damaged or cut off.
  virtual size_t read(std::span<char> into) = 0;
};

/// Opens a regular file. Its first bytes tell whether it is compressed; a file without compression
/// may not be called *.gz or *.zst, nor one with the other. Several gzip members or zstd frames are
/// read one after the other. Throws StorageError as FileReader does.
std::unique_ptr<ByteStream> open_stream(const std::filesystem::path& path);

/// Reads an open file from where it stands, such as a pipe on stdin, whose bytes are not
/// decompressed. Keeps it open. `name` is for messages.
std::unique_ptr<ByteStream> stream_of(int file, std::string name);

/// Returns "expected gzip, got ..." for a file that is called *.gz and does not begin as one, and
/// the same for *.zst; "" for others. kFormatHeadBytes of `head` are enough.
std::string compression_problem(const std::filesystem::path& path, std::string_view head);

}  // namespace axle
