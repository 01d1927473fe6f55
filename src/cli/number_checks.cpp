#include "cli/number_checks.h"

#include <fmt/format.h>

namespace axle::cli {

std::string check_device_count(const std::string& text) {
  constexpr int64_t kMost = 65536;  // virtual ones: more take minutes to create
  if (const std::string problem = check_number<int64_t>(text); !problem.empty()) return problem;
  const int64_t count = Codec<int64_t>::parse(text);
  if (count < 1) return fmt::format("expected a positive number, got {}", count);
  if (count > kMost) return fmt::format("expected at most {} devices, got {}", kMost, count);
  return {};
}

}  // namespace axle::cli
