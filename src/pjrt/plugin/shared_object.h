// What the header of a shared object says of its file: one that was cut off can be mapped by the
// loader, and kills the program where it reads behind the end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace axle {

/// The size of a file and the least size that its ELF header asks for: with all that is mapped and
/// both tables of headers.
struct SharedObjectSize {
  uint64_t bytes = 0;
  uint64_t expected_bytes = 0;
  bool is_whole() const { return bytes >= expected_bytes; }
};

/// None for what the loader refuses by itself: a file that can't be read or is no ELF file of 64
/// bits and of this machine's byte order.
std::optional<SharedObjectSize> shared_object_size(const std::filesystem::path& path);

}  // namespace axle
