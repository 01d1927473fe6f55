#include "data/tokenizers/parts/byte_level.h"

#include <array>

#include "base/text/unicode.h"

namespace axle {
namespace {

constexpr char32_t kFirstOther = 0x100;

constexpr bool is_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

constexpr auto kCharacters = [] {
  std::array<char32_t, 256> out{};
  char32_t other = kFirstOther;
  for (unsigned byte = 0; byte < 256; ++byte) out[byte] = is_itself(byte) ? byte : other++;
  return out;
}();

// The byte of each character; -1 where there is none.
constexpr auto kBytes = [] {
  std::array<int, 512> out{};
  out.fill(-1);
  for (unsigned byte = 0; byte < 256; ++byte) out[kCharacters[byte]] = static_cast<int>(byte);
  return out;
}();

}  // namespace

std::string to_byte_level(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() + bytes.size() / 2);
  for (const char c : bytes) append_utf8(out, kCharacters[static_cast<uint8_t>(c)]);
  return out;
}

std::optional<std::string> from_byte_level(std::string_view text) {
  std::string out;
  bool is_whole = true;
  for_each_code_point(text, [&](char32_t c) {
    const int byte = c < kBytes.size() ? kBytes[c] : -1;
    is_whole &= byte >= 0;
    out += static_cast<char>(byte);
  });
  return is_whole ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace axle
