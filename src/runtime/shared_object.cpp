#include "runtime/shared_object.h"

#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>

#include "base/error.h"
#include "io/mapped_file.h"

namespace axle {
namespace {

constexpr unsigned char kOurByteOrder =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

// The end of `num_bytes` at `offset`; the largest number if there is no such place.
uint64_t end_of(uint64_t offset, uint64_t num_bytes) {
  uint64_t end = 0;
  return __builtin_add_overflow(offset, num_bytes, &end) ? std::numeric_limits<uint64_t>::max()
                                                         : end;
}

uint64_t expected_bytes(std::string_view bytes) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof(header)) return sizeof(header);
  std::memcpy(&header, bytes.data(), sizeof(header));
  const auto table_end = [](uint64_t offset, uint64_t entry_bytes, uint64_t num_entries) {
    return num_entries == 0 ? 0 : end_of(offset, entry_bytes * num_entries);
  };
  uint64_t end = std::max(table_end(header.e_phoff, header.e_phentsize, header.e_phnum),
                          table_end(header.e_shoff, header.e_shentsize, header.e_shnum));
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    const uint64_t at = end_of(header.e_phoff, i * header.e_phentsize);
    Elf64_Phdr segment;
    if (end_of(at, sizeof(segment)) > bytes.size()) break;  // the table itself was cut off
    std::memcpy(&segment, bytes.data() + at, sizeof(segment));
    if (segment.p_type != PT_NULL) end = std::max(end, end_of(segment.p_offset, segment.p_filesz));
  }
  return end;
}

}  // namespace

std::optional<SharedObjectSize> shared_object_size(const std::filesystem::path& path) {
  try {
    const MappedFile file(path);
    const std::string_view bytes = file.text();
    if (bytes.size() < EI_NIDENT || !bytes.starts_with(std::string_view(ELFMAG, SELFMAG)) ||
        bytes[EI_CLASS] != ELFCLASS64 || bytes[EI_DATA] != kOurByteOrder)
      return std::nullopt;
    return SharedObjectSize{bytes.size(), expected_bytes(bytes)};
  } catch (const StorageError&) {  // the loader says why
    return std::nullopt;
  }
}

}  // namespace axle
