#include "base/error.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/console.h"

namespace axle::detail {

void check_failed(const char* condition, const char* file, int line, std::string_view message) {
  throw InternalError(
      fmt::format("internal error at {}:{}: {} is false: {}", file, line, condition, message));
}

}  // namespace axle::detail

namespace axle {

void report_to_stderr(const std::string& line) {
  static Console console(STDERR_FILENO, std::chrono::seconds(1));
  console.write(with_coloured_warnings(line + "\n", STDERR_FILENO));
}

}  // namespace axle
