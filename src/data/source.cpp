#include "data/source.h"

#include <fmt/format.h>

#include "base/text/text.h"

namespace axle {

std::string to_text(const Skipped& skipped) {
  if (skipped.count == 0) return {};
  std::vector<std::string> reasons;
  for (const auto& [reason, count] : skipped.reasons)
    reasons.push_back(fmt::format("{} {}", count, reason));
  return fmt::format("{} skipped ({})", skipped.count, join(reasons, ", "));
}

}  // namespace axle
