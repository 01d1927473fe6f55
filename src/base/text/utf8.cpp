#include "base/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace axle {
namespace {

// What the first byte tells: the bytes of the character (0: no character begins with it) and the
// range of the second byte.
struct Lead {
  size_t size;
  uint8_t low, high;
};

Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xc2) return {0, 0, 0};  // a continuation, or an overlong form of two bytes
  if (byte < 0xe0) return {2, 0x80, 0xbf};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};  // below: overlong
  if (byte == 0xed) return {3, 0x80, 0x9f};  // above: surrogates
  if (byte < 0xf0) return {3, 0x80, 0xbf};
  if (byte == 0xf0) return {4, 0x90, 0xbf};  // below: overlong
  if (byte < 0xf4) return {4, 0x80, 0xbf};
  if (byte == 0xf4) return {4, 0x80, 0x8f};  // above: more than U+10FFFF
  return {0, 0, 0};
}

}  // namespace

Utf8Step utf8_step(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const Lead lead = lead_of(byte(0));
  if (lead.size == 0) return {Utf8Kind::kInvalid, 1};
  const size_t present = std::min(lead.size, text.size());
  for (size_t i = 1; i < present; ++i) {
    const uint8_t low = i == 1 ? lead.low : 0x80, high = i == 1 ? lead.high : 0xbf;
    if (byte(i) < low || byte(i) > high) return {Utf8Kind::kInvalid, 1};
  }
  return {present == lead.size ? Utf8Kind::kComplete : Utf8Kind::kTruncated, present};
}

std::optional<size_t> find_invalid_utf8(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080u;
  size_t at = 0;
  while (at < text.size()) {
    // Corpora are mostly ASCII, so check eight bytes at once.
    uint64_t word;
    if (text.size() - at >= sizeof(word)) {
      std::memcpy(&word, text.data() + at, sizeof(word));
      if ((word & kHighBits) == 0) {
        at += sizeof(word);
        continue;
      }
    }
    const Utf8Step step = utf8_step(text.substr(at));
    if (step.kind != Utf8Kind::kComplete) return at;
    at += step.size;
  }
  return std::nullopt;
}

std::string printable(std::string_view text, size_t most) {
  std::string out;
  while (!text.empty()) {
    if (out.size() >= most) return out + "...";
    const Utf8Step step = utf8_step(text);
    const auto byte = static_cast<uint8_t>(text[0]);
    if (step.kind == Utf8Kind::kComplete && byte >= 0x20 && byte != 0x7f) {
      out += text.substr(0, step.size);
      text.remove_prefix(step.size);
    } else {
      out += fmt::format("\\x{:02x}", byte);
      text.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace axle
