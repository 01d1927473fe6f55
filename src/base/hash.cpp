#include "base/hash.h"

#include <openssl/evp.h>
#include <xxhash.h>

#include <array>
#include <cstring>

#include "base/error.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace axle {
namespace {

std::string digest(const EVP_MD* algorithm, std::string_view bytes) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const int ok = EVP_Digest(bytes.data(), bytes.size(), out, &size, algorithm, nullptr);
  AXLE_CHECK(ok == 1, "EVP_Digest failed");
  return std::string(reinterpret_cast<const char*>(out), size);
}

std::string hex_digits(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

EVP_MD_CTX* context(const std::shared_ptr<void>& state) {
  return static_cast<EVP_MD_CTX*>(state.get());
}

// Row k holds the effect of each byte value on a checksum to which k more bytes are added. So eight
// bytes are processed at once, each by its own row.
using Tables = std::array<std::array<uint32_t, 256>, 8>;
constexpr Tables make_tables() {
  constexpr uint32_t kReflectedPolynomial = 0x82f63b78;
  Tables t{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? kReflectedPolynomial : 0);
    t[0][i] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t i = 0; i < 256; ++i) t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 0xff];
  }
  return t;
}
constexpr Tables kTables = make_tables();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t crc32c_sse42(std::span<const std::byte> bytes,
                                                        uint32_t crc) {
  const std::byte* p = bytes.data();
  const std::byte* const end = p + bytes.size();
  uint64_t state = ~crc;
  for (; end - p >= 8; p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    state = _mm_crc32_u64(state, word);
  }
  auto last = static_cast<uint32_t>(state);
  for (; p < end; ++p) last = _mm_crc32_u8(last, static_cast<uint8_t>(*p));
  return ~last;
}
#endif

}  // namespace

uint64_t xxh3_64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string sha256_hex(std::string_view bytes) { return hex_digits(digest(EVP_sha256(), bytes)); }

Sha256::Sha256()
    : state_(EVP_MD_CTX_new(), [](void* p) { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(p)); }) {
  AXLE_CHECK(state_ && EVP_DigestInit_ex(context(state_), EVP_sha256(), nullptr) == 1,
             "EVP_DigestInit_ex failed");
}

void Sha256::add(std::string_view bytes) {
  AXLE_CHECK(EVP_DigestUpdate(context(state_), bytes.data(), bytes.size()) == 1,
             "EVP_DigestUpdate failed");
}

std::string Sha256::hex() {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  AXLE_CHECK(EVP_DigestFinal_ex(context(state_), out, &size) == 1, "EVP_DigestFinal_ex failed");
  return hex_digits(std::string(reinterpret_cast<const char*>(out), size));
}

uint32_t md5_mod_2_31_minus_1(std::string_view name) {
  constexpr uint64_t kModulus = (uint64_t{1} << 31) - 1;
  uint64_t rest = 0;
  for (const char c : digest(EVP_md5(), name))
    rest = (rest * 256 + static_cast<unsigned char>(c)) % kModulus;
  return static_cast<uint32_t>(rest);
}

uint32_t detail::crc32c_portable(std::span<const std::byte> bytes, uint32_t crc) {
  const auto* p = reinterpret_cast<const uint8_t*>(bytes.data());
  const uint8_t* const end = p + bytes.size();
  crc = ~crc;
  for (; end - p >= 8; p += 8) {
    const uint32_t low =
        crc ^ (uint32_t{p[0]} | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 | uint32_t{p[3]} << 24);
    crc = kTables[7][low & 0xff] ^ kTables[6][(low >> 8) & 0xff] ^ kTables[5][(low >> 16) & 0xff] ^
          kTables[4][low >> 24] ^ kTables[3][p[4]] ^ kTables[2][p[5]] ^ kTables[1][p[6]] ^
          kTables[0][p[7]];
  }
  for (; p < end; ++p) crc = (crc >> 8) ^ kTables[0][(crc ^ *p) & 0xff];
  return ~crc;
}

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc) {
#if defined(__x86_64__)
  static const bool fast = __builtin_cpu_supports("sse4.2");
  if (fast) return crc32c_sse42(bytes, crc);
#endif
  return detail::crc32c_portable(bytes, crc);
}

uint32_t crc32c(std::string_view bytes, uint32_t crc) {
  return crc32c(std::as_bytes(std::span(bytes)), crc);
}

}  // namespace axle
