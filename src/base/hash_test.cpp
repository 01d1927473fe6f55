#include "base/hash.h"

#include <gtest/gtest.h>

#include <random>

namespace axle {
namespace {

// Published vectors: xxHash sanity table, FIPS 180-4, RFC 1321, RFC 3720 B.4.
TEST(Hash, Xxh3OfEmptyInput) { EXPECT_EQ(xxh3_64(""), 0x2d06800538d394c2u); }

TEST(Hash, Sha256) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Hash, Md5ModuloMersenne31) {
  // int(hashlib.md5(name).hexdigest(), 16) % (2**31 - 1) in Python.
  EXPECT_EQ(md5_mod_2_31_minus_1(""), 484934813u);
  EXPECT_EQ(md5_mod_2_31_minus_1("abc"), 1231143418u);
  EXPECT_EQ(md5_mod_2_31_minus_1("dropout"), 1704356001u);
}

TEST(Hash, Crc32c) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(Hash, Crc32cIsIncrementalAndPortable) {
  std::mt19937 random(7);
  std::string bytes(1000, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  const std::string_view all = bytes;
  const uint32_t whole = crc32c(all);
  for (const size_t cut : {0, 1, 7, 8, 9, 500, 999, 1000}) {
    EXPECT_EQ(crc32c(all.substr(cut), crc32c(all.substr(0, cut))), whole) << cut;
    const auto part = std::as_bytes(std::span(all.substr(cut)));
    EXPECT_EQ(detail::crc32c_portable(part, 0), crc32c(part)) << cut;
  }
}

TEST(Hash, Sha256OfPiecesEqualsSha256OfTheWhole) {
  const std::string bytes(1000, 'a');
  Sha256 pieces;
  for (size_t at = 0, size = 0; at < bytes.size(); at += size, ++size)
    pieces.add(std::string_view(bytes).substr(at, size));
  EXPECT_EQ(pieces.hex(), sha256_hex(bytes));
  EXPECT_EQ(Sha256().hex(), sha256_hex(""));
}

}  // namespace
}  // namespace axle
