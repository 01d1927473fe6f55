// Tests the form of `axle graph` that needs a compiler.
#include <gmock/gmock.h>

#include "cli/run_test.h"
#include "testing/needs_plugin.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(GraphVerb, ShowsTheCompiledProgram) {
  AXLE_NEEDS_PLUGIN("cpu");
  const Ran ran =
      run_axle({"graph", "fuji-test-v1", "--on", "cpu:2", "--mesh", "data=2", "--optimized"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("HloModule"));
  EXPECT_THAT(ran.out, HasSubstr("ENTRY %"));
  EXPECT_THAT(ran.out, HasSubstr(" while("));
  EXPECT_THAT(ran.out, HasSubstr(" all-reduce("));
}

}  // namespace
}  // namespace axle
