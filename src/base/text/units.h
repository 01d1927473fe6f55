// Numbers as people read them.
#pragma once

#include <string>

namespace axle {

/// "1.5 GiB".
std::string bytes_text(double bytes);
/// "1.500 s", "1.5 ms", "1.5 us".
std::string seconds_text(double seconds);

}  // namespace axle
