// References of the generators of random bits, from their papers: Salmon et al. 2011, "Parallel
// random numbers: as easy as 1, 2, 3", sections 4.2 and 4.3.
#include <array>

#include "transform/laws/naive_test.h"

namespace axle::testing {
namespace {

uint32_t rotated(uint32_t v, int bits) { return v << bits | v >> (32 - bits); }

// Threefry-2x32: every four rounds a key word is injected, and the number of the injection.
std::array<uint32_t, 2> threefry(std::array<uint32_t, 2> key, std::array<uint32_t, 2> x) {
  constexpr int kRotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  const uint32_t words[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA};
  x = {x[0] + words[0], x[1] + words[1]};
  for (uint32_t round = 0; round < 20; ++round) {
    x[0] += x[1];
    x[1] = rotated(x[1], kRotations[round % 8]) ^ x[0];
    if (round % 4 != 3) continue;
    const uint32_t injection = round / 4 + 1;
    x[0] += words[injection % 3];
    x[1] += words[(injection + 1) % 3] + injection;
  }
  return x;
}

Naives threefry_reference(const NaiveCall& c) {
  Naives y = {Naive(c.result(0)), Naive(c.result(1))};
  for (size_t i = 0; i < y[0].size(); ++i) {
    const auto at = [&](size_t operand) {
      const Naive& x = c.x[operand];
      return static_cast<uint32_t>(x.re[x.type.dims.empty() ? 0 : i]);
    };
    const auto words = threefry({at(0), at(1)}, {at(2), at(3)});
    y[0].re[i] = words[0];
    y[1].re[i] = words[1];
  }
  return y;
}

// Philox-4x32 of one 128-bit counter.
std::array<uint32_t, 4> philox(unsigned __int128 counter, uint64_t key) {
  uint32_t x[4];
  for (int i = 0; i < 4; ++i) x[i] = static_cast<uint32_t>(counter >> (32 * i));
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
    const uint64_t a = uint64_t{0xD2511F53} * x[0], b = uint64_t{0xCD9E8D57} * x[2];
    const uint32_t next[4] = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ k0, static_cast<uint32_t>(b),
                              static_cast<uint32_t>(a >> 32) ^ x[3] ^ k1, static_cast<uint32_t>(a)};
    for (int i = 0; i < 4; ++i) x[i] = next[i];
  }
  return {x[0], x[1], x[2], x[3]};
}

// The words of counters key[2..3] + 2^64 key[0..1], + 1, ... in order; the low word of a u64 first.
Naives bits_reference(const NaiveCall& c) {
  const auto word = [&](size_t i) { return static_cast<uint64_t>(c.x[0].re[i]); };
  const uint64_t key = word(0) | word(1) << 32;
  const auto first = static_cast<unsigned __int128>(key) << 64 | (word(2) | word(3) << 32);
  Naive y(c.result());
  const size_t words = size_bytes(y.type.dtype) / 4;
  const auto random = [&](size_t i) -> uint64_t { return philox(first + i / 4, key)[i % 4]; };
  for (size_t i = 0; i < y.size(); ++i) {
    y.re[i] =
        static_cast<long double>(words == 1 ? random(i) : random(2 * i) | random(2 * i + 1) << 32);
  }
  return {y};
}

}  // namespace

void add_random_references(References& out) {
  out["threefry2x32"] = threefry_reference;
  out["rng_bit_generator"] = bits_reference;
}

}  // namespace axle::testing
