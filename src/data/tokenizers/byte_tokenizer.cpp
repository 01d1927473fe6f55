#include "data/tokenizers/byte_tokenizer.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/hash.h"
#include "config/register.h"

namespace axle {
namespace {

constexpr auto kBytes = [] {
  std::array<char, 256> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i);
  return bytes;
}();

}  // namespace

ByteTokenizer::ByteTokenizer(const Config& cfg, const Dims&, const Scope&)
    : vocab_size_(cfg.vocab_size) {}

std::vector<int32_t> ByteTokenizer::encode(std::string_view text) const {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(text.data());
  return {bytes, bytes + text.size()};
}

std::string_view ByteTokenizer::piece(int32_t id) const {
  return id >= 0 && id < kBoundary ? std::string_view(&kBytes[id], 1) : std::string_view();
}

uint64_t ByteTokenizer::fingerprint() const { return xxh3_64("ByteTokenizer"); }

AXLE_REGISTER(ByteTokenizer)

void ByteHistogram::add(std::string_view text) {
  for (const char c : text) ++counts_[static_cast<uint8_t>(c)];
  num_bytes_ += std::ssize(text);
}

double ByteHistogram::entropy_bits() const {
  double bits = 0;
  for (const int64_t count : counts_) {
    if (count == 0) continue;
    const double p = static_cast<double>(count) / static_cast<double>(num_bytes_);
    bits -= p * std::log2(p);
  }
  return bits;
}

}  // namespace axle
