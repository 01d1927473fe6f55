#include "base/tree.h"

#include <fmt/format.h>

#include <stdexcept>

namespace axle {

void detail::fail_missing(const std::string& path) {
  throw std::out_of_range(fmt::format("a tree has no entry '{}'", path));
}

}  // namespace axle
