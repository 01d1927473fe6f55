// What a compile report tells of real programs of the CPU plugin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspect/compile_report.h"
#include "recipes/resolve.h"
#include "testing/needs_plugin.h"

namespace axle {
namespace {

using testing::Contains;
using testing::HasSubstr;

class CompileReportOnCpu : public testing::Test {
 protected:
  void SetUp() override { AXLE_NEEDS_PLUGIN("cpu"); }
  static CompileReport report(const std::string& on, const std::string& mesh) {
    const Target target = parse_target(on);
    const Resolved resolved = resolve_config(
        {.recipe = "fuji-test-v1", .edits = {SetField{"mesh", mesh}}, .machine = target.machine()});
    return compile_report(lower_step(resolved.config, "fuji-test-v1", target));
  }
};

// XLA's CPU compiler makes no scatters: gradients of layers are summed whole, and each device keeps
// its part.
TEST_F(CompileReportOnCpu, ScattersThatBecameAllReducesAreSaid) {
  const CompileReport r = report("cpu:4", "fsdp=4");
  bool found = false;
  for (const CollectiveRow& row : r.collectives.value()) {
    if (row.kind != "all-reduce" || !row.backward || !row.in_loop) continue;
    EXPECT_EQ(row.in_place_of, "reduce-scatter") << to_text(r);
    found = true;
  }
  EXPECT_TRUE(found);
  EXPECT_THAT(r.findings, Contains(HasSubstr(" reduce-scatters are done by all-reduces")));
}

// Sums of what no device keeps a part of are what they are called.
TEST_F(CompileReportOnCpu, AllReducesOfDataParallelismAreNone) {
  const CompileReport r = report("cpu:2", "data=2");
  for (const CollectiveRow& row : r.collectives.value())
    EXPECT_EQ(row.in_place_of, "") << to_text(r);
}

}  // namespace
}  // namespace axle
