// Checks that the file of a shared object is complete. The loader maps a truncated file without an
// error, and the program then crashes when it reads past the end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace axle {

/// The size of a file, and the least size that its ELF header implies: all mapped segments and both
/// header tables.
struct SharedObjectSize {
  uint64_t bytes = 0;
  uint64_t expected_bytes = 0;
  bool is_complete() const { return bytes >= expected_bytes; }
};

/// Returns none for a file that the loader refuses by itself: it cannot be read, or is not a 64-bit
/// ELF file in this machine's byte order.
std::optional<SharedObjectSize> shared_object_size(const std::filesystem::path& path);

}  // namespace axle
