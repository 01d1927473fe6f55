// The alphabet of byte-level vocabularies: each byte as one printable character, as GPT-2 writes
// them. Bytes that are printable in Latin-1 stand for themselves; the others are U+0100 and up, in
// their order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace axle {

/// Returns the bytes in that alphabet.
std::string to_byte_level(std::string_view bytes);
/// Returns the bytes that the text stands for; none if a character is not of the alphabet.
std::optional<std::string> from_byte_level(std::string_view text);

}  // namespace axle
