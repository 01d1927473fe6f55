// Makes zip archives for tests, also bad ones: entries are stored unchanged, under any name.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

struct TestZipEntry {
  std::string name;
  std::string bytes = {};
  uint32_t mode = S_IFREG | 0644;
  /// Added to the checksum: a value other than 0 damages the entry.
  uint32_t checksum_error = 0;
};

/// Returns the CRC-32 of zip and gzip.
inline uint32_t zip_crc32(std::string_view bytes) {
  uint32_t crc = 0xffffffffu;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
  }
  return ~crc;
}

/// Returns the bytes of the archive.
inline std::string test_zip(const std::vector<TestZipEntry>& entries) {
  const auto little = [](uint64_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
    return out;
  };
  std::string files, directory;
  for (const TestZipEntry& entry : entries) {
    const uint32_t crc = zip_crc32(entry.bytes) + entry.checksum_error;
    // Version, flags, method (stored), time and date, checksum, both sizes, lengths of name and
    // extra field.
    const std::string common = little(20, 2) + little(0, 2) + little(0, 2) + little(0x21'0000, 4) +
                               little(crc, 4) + little(entry.bytes.size(), 4) +
                               little(entry.bytes.size(), 4) + little(entry.name.size(), 2) +
                               little(0, 2);
    // Made on Unix (3); comment, disk, internal attributes; mode; offset of the entry's own header.
    directory += little(0x02014b50, 4) + little(3 << 8 | 20, 2) + common + little(0, 6) +
                 little(uint64_t{entry.mode} << 16, 4) + little(files.size(), 4) + entry.name;
    files += little(0x04034b50, 4) + common + entry.name + entry.bytes;
  }
  return files + directory + little(0x06054b50, 4) + little(0, 4) + little(entries.size(), 2) +
         little(entries.size(), 2) + little(directory.size(), 4) + little(files.size(), 4) +
         little(0, 2);
}

}  // namespace axle
