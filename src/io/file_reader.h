// A file open for reading at any place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace axle {

/// Regular files alone. Bytes are read, never mapped: an error of the disk, or a file that somebody
/// cuts off meanwhile, is an exception here and would be a signal there. For use from any thread.
class FileReader {
 public:
  /// Throws StorageError for what can't be opened and, without waiting for it, for a folder, a FIFO
  /// or a device.
  explicit FileReader(std::filesystem::path path);
  ~FileReader();
  FileReader(FileReader&& other) noexcept;
  FileReader& operator=(FileReader other) noexcept;

  const std::filesystem::path& path() const { return path_; }
  /// In bytes, when it was opened.
  int64_t size() const { return size_; }
  /// Fills all of `into`. Throws StorageError naming the offset where the file ends before that.
  void read_at(int64_t offset, std::span<std::byte> into) const;
  /// As many bytes as there are; 0 at the end.
  size_t read_some(int64_t offset, std::span<std::byte> into) const;
  /// Throws StorageError if the file has another size now than when it was opened.
  void check_unchanged() const;

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  int64_t size_ = 0;
};

/// SHA-256 of the whole file, 64 hexadecimal digits. Throws StorageError.
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace axle
