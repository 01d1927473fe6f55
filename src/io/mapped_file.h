// A file's bytes, mapped into memory and read on demand.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace axle {

/// Read-only. The bytes stay valid as long as the object lives and nobody truncates the file.
class MappedFile {
 public:
  /// Throws StorageError.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile other) noexcept;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace axle
