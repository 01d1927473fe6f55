// Published recipes by their own mesh rules, compiled for machines that are not here: they fit, in
// the memory that they have needed. These rows of `bench/fits.py rules` compile in seconds.
#include <gmock/gmock.h>

#include "plan/compile_report.h"
#include "recipes/resolve/resolve.h"
#include "testing/needs_plugin.h"
#include "testing/test_name.h"

namespace axle {
namespace {

struct Row {
  const char* recipe;
  const char* on;
  double gib;  // of a device, as bench/RESULTS.md has it
};

class FitsByItsRule : public ::testing::TestWithParam<Row> {};

TEST_P(FitsByItsRule, NeedsNoMoreMemoryThanRecorded) {
  const Row& row = GetParam();
  const Target target = parse_target(row.on);
  AXLE_NEEDS_PLUGIN(target.accelerator.platform);
  const Resolved resolved = resolve_config({.recipe = row.recipe, .machine = target.machine()});
  ASSERT_FALSE(resolved.report.mesh_rule.empty());
  const CompileReport report = compile_step(lower_step(resolved.config, row.recipe, target));
  EXPECT_EQ(report.fits(), true);
  ASSERT_TRUE(report.headroom_bytes());
  const double needed = static_cast<double>(report.device_memory_bytes - *report.headroom_bytes());
  EXPECT_LT(needed, 1.05 * row.gib * (int64_t{1} << 30));
}

INSTANTIATE_TEST_SUITE_P(Rows, FitsByItsRule,
                         ::testing::Values(Row{"fuji-1B-v3", "gpu-H100-4", 13.5},
                                           Row{"fuji-7B-v2", "gpu-H100-256", 68.1},
                                           Row{"fuji-70B-v2", "gpu-H100-256", 68.3},
                                           Row{"fuji-70B-v2", "gpu-H100-512", 65.6}),
                         [](const auto& row) {
                           return test_name(std::string(row.param.recipe) + "_on_" + row.param.on);
                         });

}  // namespace
}  // namespace axle
