// Bytes in base 64, as tables and tokens stand in text files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace axle {

/// Returns the bytes; none if the text is not base 64 with its padding.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace axle
