#include "modifiers/collect_stats.h"

#include <fmt/format.h>

#include "config/register.h"
#include "config/set.h"
#include "config/walk.h"
#include "modifiers/attention/set_attention.h"

namespace axle {

std::vector<Rewrite> CollectStats::apply(ConfigRef root) const {
  std::vector<Rewrite> out = {{fmt::format("CollectStats at {}", cfg_.at),
                               set_option(root, "@stats", &cfg_.stats, cfg_.at, "CollectStats")}};
  constexpr std::string_view kSummaries = "layer_summaries";
  for (const Slot& field : children_of(root.slot())) {
    if (field.name != kSummaries || cfg_.stats.empty()) continue;
    RewriteReport& report = out[0].report;
    (*static_cast<bool*>(field.at) ? report.unchanged : report.matched).emplace_back(kSummaries);
    set(root, kSummaries, "true");
  }
  return out;
}

AXLE_REGISTER(CollectStats)

}  // namespace axle
