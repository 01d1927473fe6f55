#include "transform/regions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace axle {

std::vector<RegionRuns> runs_of_regions(const OpNode& op) {
  if (op.regions.empty()) return {};
  const OpRow& row = op.rules->row();
  if (const auto missing = missing_region_rules(row, op); !missing.empty()) {
    throw InternalError(fmt::format("{}: expected a row with a rule for {}, got none", row.name,
                                    fmt::join(missing, ", ")));
  }
  return row.regions(op);
}

std::vector<double> counted_runs(const OpNode& op) {
  if (const RunsRule rule = op.rules->row().runs) return rule(op);
  std::vector<double> out;
  for (const RegionRuns& runs : runs_of_regions(op))
    out.push_back(runs.repeats == Repeats::kIterations ? static_cast<double>(runs.count.value_or(1))
                                                       : 1);
  return out;
}

std::vector<std::string_view> missing_region_rules(const OpRow& row, const OpNode& op) {
  std::vector<std::string_view> out;
  if (!row.linearize) out.emplace_back("linearize");
  if (!row.source) out.emplace_back("source");
  if (!row.regions) {
    out.emplace_back("regions");
  } else if (!row.widen && std::ranges::any_of(row.regions(op), &RegionRuns::is_open)) {
    out.emplace_back("widen");
  }
  return out;
}

}  // namespace axle
