// Numbers as people read them.
#pragma once

#include <string>

namespace axle {

/// "1.5 GiB".
std::string bytes_text(double bytes);

}  // namespace axle
