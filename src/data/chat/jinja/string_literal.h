// The escapes of quoted texts, as Python's "unicode-escape" reads them.
#pragma once

#include <string>
#include <string_view>

namespace axle::jinja {

/// Returns the text of a literal without its quotes. A mistake is described in `problem`.
std::string unescaped(std::string_view literal, std::string& problem);

}  // namespace axle::jinja
