// A file open for reading at any offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace axle {

/// Reads regular files only. Reads bytes and does not map them: a disk error, or a file truncated
/// by another process, then gives an exception instead of a signal. May be used from any thread.
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

/// Returns the bytes that a file begins with, as many as tell its format (base/text/file_format.h).
std::string head_of(const FileReader& file);

/// Throws StorageError "<path>: expected <expected>, got <format>" for a file of a known format of
/// text, such as a git-LFS pointer, that is not empty. For files of any bytes that turn out to be
/// damaged.
void check_no_text(const FileReader& file, std::string_view expected);

/// Returns the SHA-256 of the whole file as 64 hexadecimal digits. Throws StorageError.
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace axle
