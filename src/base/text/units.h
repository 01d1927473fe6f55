// Numbers as people read them.
#pragma once

#include <string>

namespace axle {

/// Returns a size such as "1.5 GiB".
std::string bytes_text(double bytes);
/// Returns a time such as "1.500 s", "1.5 ms" or "1.5 us".
std::string seconds_text(double seconds);

}  // namespace axle
