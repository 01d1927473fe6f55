// Hashes and checksums: xxh3 for keys in memory, SHA-256 for the identity of files, CRC-32C for
// stored records, MD5 for names.
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

/// Returns the SHA-256 digest as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

/// Computes sha256_hex of bytes that arrive piece by piece.
class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes);
  /// Returns the digest of all bytes added. add() must not be called afterwards.
  std::string hex();

 private:
  std::shared_ptr<void> state_;
};

/// Returns the MD5 digest of the name, read as one big-endian number, modulo 2^31 - 1. This number
/// is folded into a PRNG key to derive a key for the name.
uint32_t md5_mod_2_31_minus_1(std::string_view name);

/// Returns the CRC-32C (Castagnoli). Incremental: crc32c(b, crc32c(a)) is the checksum of a
/// followed by b.
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc = 0);
uint32_t crc32c(std::string_view bytes, uint32_t crc = 0);

namespace detail {
/// Computes crc32c without special instructions. CPUs without SSE 4.2 use it, and tests compare
/// against it.
uint32_t crc32c_portable(std::span<const std::byte> bytes, uint32_t crc);
}  // namespace detail

}  // namespace axle
