// The lines of a file, one at a time: a file larger than the memory can be read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/byte_stream.h"

namespace axle {

class LineReader {
 public:
  static constexpr size_t kMaxLineBytes = size_t{256} << 20;

  /// Opens a file, which may be compressed (open_stream). Drops a byte order mark.
  explicit LineReader(const std::filesystem::path& path, size_t max_line_bytes = kMaxLineBytes);
  /// As above, of a stream; the path is for messages.
  LineReader(std::filesystem::path path, std::unique_ptr<ByteStream> stream, size_t max_line_bytes);
  /// Returns the next line without its end, "\n" or "\r\n"; none at the end of the file. It is
  /// valid until the next call. Throws StorageError for a damaged file, and for a line of more than
  /// `max_line_bytes`.
  std::optional<std::string_view> next();
  /// As next(), with the end of the line, which the last line may lack.
  std::optional<std::string_view> next_with_end();
  /// Returns the number of the line returned last, from 1.
  int64_t number() const { return number_; }

 private:
  bool fill();

  std::filesystem::path path_;
  size_t max_line_bytes_;
  std::unique_ptr<ByteStream> stream_;
  std::string buffer_;
  size_t begin_ = 0;  // of the next line in buffer_
  int64_t number_ = 0;
};

}  // namespace axle
