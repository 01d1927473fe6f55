#include "pjrt/plugin/shared_object.h"

#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <span>

#include "base/error.h"
#include "io/file_reader.h"

namespace axle {
namespace {

constexpr unsigned char kOurByteOrder =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

// Returns offset + num_bytes, or the largest number if the sum overflows.
uint64_t end_of(uint64_t offset, uint64_t num_bytes) {
  uint64_t end = 0;
  return __builtin_add_overflow(offset, num_bytes, &end) ? std::numeric_limits<uint64_t>::max()
                                                         : end;
}

template <class T>
bool read_struct(const FileReader& file, uint64_t offset, T& out) {
  return file.read_some(static_cast<int64_t>(offset), std::as_writable_bytes(std::span(&out, 1))) ==
         sizeof(T);
}

uint64_t expected_bytes(const FileReader& file) {
  const auto size = static_cast<uint64_t>(file.size());
  Elf64_Ehdr header;
  if (!read_struct(file, 0, header)) return sizeof(header);
  const auto table_end = [](uint64_t offset, uint64_t entry_bytes, uint64_t num_entries) {
    return num_entries == 0 ? 0 : end_of(offset, entry_bytes * num_entries);
  };
  uint64_t end = std::max(table_end(header.e_phoff, header.e_phentsize, header.e_phnum),
                          table_end(header.e_shoff, header.e_shentsize, header.e_shnum));
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    const uint64_t at = end_of(header.e_phoff, i * header.e_phentsize);
    Elf64_Phdr segment;
    if (end_of(at, sizeof(segment)) > size) break;  // the table itself is truncated
    if (!read_struct(file, at, segment)) break;
    if (segment.p_type != PT_NULL) end = std::max(end, end_of(segment.p_offset, segment.p_filesz));
  }
  return end;
}

}  // namespace

std::optional<SharedObjectSize> shared_object_size(const std::filesystem::path& path) {
  try {
    const FileReader file(path);
    unsigned char identity[EI_NIDENT];
    if (!read_struct(file, 0, identity) || std::memcmp(identity, ELFMAG, SELFMAG) != 0 ||
        identity[EI_CLASS] != ELFCLASS64 || identity[EI_DATA] != kOurByteOrder)
      return std::nullopt;
    return SharedObjectSize{static_cast<uint64_t>(file.size()), expected_bytes(file)};
  } catch (const StorageError&) {  // the loader reports why
    return std::nullopt;
  }
}

}  // namespace axle
