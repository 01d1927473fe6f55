// What the row of an op says about its regions.
#pragma once

#include <string_view>
#include <vector>

#include "ir/op_rules.h"

namespace axle {

/// Returns the runs of each region of the op. Throws InternalError that names the op if its row
/// lacks a rule (missing_region_rules).
std::vector<RegionRuns> runs_of_regions(const OpNode& op);
/// Returns, for each region, the number of its runs that the op's cost includes: for a loop of
/// unknown length, 1.
std::vector<double> counted_runs(const OpNode& op);
/// Returns the fields of `row` that this op, which has regions, needs and that are not set.
std::vector<std::string_view> missing_region_rules(const OpRow& row, const OpNode& op);

}  // namespace axle
