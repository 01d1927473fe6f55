#include "base/error.h"

#include <fmt/format.h>

namespace axle::detail {

void check_failed(const char* condition, const char* file, int line, std::string_view message) {
  throw InternalError(
      fmt::format("internal error at {}:{}: {} is false: {}", file, line, condition, message));
}

}  // namespace axle::detail
