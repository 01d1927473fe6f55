// Hashes and checksums: xxh3 for keys in memory, SHA-256 for identity of files, CRC-32C for stored
// records, MD5 for names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace axle {

/// Fast 64-bit hash, stable over processes and versions.
uint64_t xxh3_64(std::string_view bytes);

/// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

/// The same of bytes that come piece by piece.
class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes);
  /// Of all that was added; nothing may be added then.
  std::string hex();

 private:
  std::shared_ptr<void> state_;
};

/// The MD5 digest, read as one big-endian number, modulo 2^31 - 1: the number that names a PRNG
/// key.
uint32_t md5_mod_2_31_minus_1(std::string_view name);

/// CRC-32C (Castagnoli). Incremental: crc32c(b, crc32c(a)) is the checksum of a followed by b.
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc = 0);
uint32_t crc32c(std::string_view bytes, uint32_t crc = 0);

namespace detail {
/// The same without special instructions: what other machines use, and the oracle of the test.
uint32_t crc32c_portable(std::span<const std::byte> bytes, uint32_t crc);
}  // namespace detail

}  // namespace axle
