#include "data/source.h"

#include <fmt/format.h>

#include "base/text/text.h"

namespace axle {

std::string to_text(const Skipped& skipped) {
  if (skipped.count == 0) return {};
  std::vector<std::string> reasons;
  for (const auto& [reason, count] : skipped.reasons) {
    const auto named = skipped.names.find(reason);
    if (named == skipped.names.end() || named->second.empty()) {
      reasons.push_back(fmt::format("{} {}", count, reason));
      continue;
    }
    const bool are_all = static_cast<int64_t>(named->second.size()) == count;
    reasons.push_back(fmt::format("{} {}: {}{}", count, reason, join(named->second, ", "),
                                  are_all ? "" : ", ..."));
  }
  return fmt::format("{} skipped ({})", skipped.count, join(reasons, "; "));
}

}  // namespace axle
