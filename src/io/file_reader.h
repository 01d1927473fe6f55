// Files read piece by piece: bytes at an offset, lines, and plain bytes of packed files.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace axle {

/// Reads regular files only. Reads bytes and does not map them: a disk error, or a file truncated
/// by another process, then raises an exception instead of a signal. May be used from any thread.
class FileReader {
 public:
  /// Throws StorageError if the file can't be opened or is not a regular file; does not block on a
  /// FIFO or a device.
  explicit FileReader(std::filesystem::path path);
  ~FileReader();
  FileReader(FileReader&& other) noexcept;
  FileReader& operator=(FileReader other) noexcept;

  const std::filesystem::path& path() const { return path_; }
  /// Returns the size in bytes at the time of opening.
  int64_t size() const { return size_; }
  /// Fills all of `into`. Throws StorageError with the offset if the file ends before that.
  void read_at(int64_t offset, std::span<std::byte> into) const;
  /// Reads as many bytes as there are, at most into.size(), and returns their number; 0 at the end.
  size_t read_some(int64_t offset, std::span<std::byte> into) const;

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  int64_t size_ = 0;
};

/// Returns the bytes that a file begins with, as many as show its format (base/text/file_format.h).
std::string head_of(const FileReader& file);

/// Throws StorageError "<path>: expected <expected>, got <format>" for a file of a known format of
/// text, such as a git-LFS pointer, that is not empty. For files of any bytes that turn out to be
/// damaged.
void check_no_text(const FileReader& file, std::string_view expected);

/// Returns the SHA-256 of the whole file as 64 hexadecimal digits. Throws StorageError.
std::string sha256_of_file(const std::filesystem::path& path);

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Fills `into` as far as there are bytes, and returns their number; 0 at the end. Throws
  /// StorageError with the offset in the file if it is damaged or cut off.
  virtual size_t read(std::span<char> into) = 0;
};

/// Opens a regular file. Its first bytes show whether it is compressed; a file without compression
/// may not be called *.gz or *.zst, nor one with the other. Several gzip members or zstd frames are
/// read one after the other. Throws StorageError as FileReader does.
std::unique_ptr<ByteStream> open_stream(const std::filesystem::path& path);

/// Reads an open file from where it stands, such as a pipe on stdin, whose bytes are not
/// decompressed. Keeps it open. `name` is for messages.
std::unique_ptr<ByteStream> stream_of(int file, std::string name);

/// Returns "expected gzip, got ..." for a file that is called *.gz and does not begin as one, and
/// the same for *.zst; "" for others. kFormatHeadBytes of `head` are enough.
std::string compression_problem(const std::filesystem::path& path, std::string_view head);

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

/// Returns "a regular file", "a folder", "a FIFO", "a socket" or "a device".
const char* kind_name(mode_t mode);
/// Throws StorageError "<path>: expected a regular file, got <what>" if `path` names something
/// else. A missing file is no error. Follows links.
void check_regular(const std::filesystem::path& path);
/// Checks an open file in the same way; `path` is for the message.
void check_regular(int fd, const std::filesystem::path& path);

}  // namespace axle
