// What programs for absent TPUs and GPUs are lowered to. Each test is skipped if its plugin is not
// found.
#include <gmock/gmock.h>

#include "lower/stablehlo.h"
#include "pjrt/compile/compile_options.h"
#include "pjrt/compiler.h"
#include "testing/collective_samples.h"
#include "testing/needs_plugin.h"
#include "transform/kernel/kernels.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using testing::kMesh;

// A kernel on parts, then ragged_all_to_all over "model".
Program two_forms() {
  return trace_program(
      "two_forms",
      [](const Values& x) {
        return shard_map(
            [](const Values& p) { return Values{testing::sent_rows(gated_silu(p[0], p[0]))}; }, x,
            testing::over({{{"model"}}}, {{{"model"}}}));
      },
      {{"x", {DType::kF32, {8, 4}}}}, {{"y", {DType::kF32, {12, 4}}}}, kMesh);
}

void expect_native_rows(const std::string& target) {
  const auto compiler = make_compiler(parse_target(target));
  const Program lowered = lowered_for(two_forms(), compiler->lowering_target());
  std::vector<std::string> choices;
  for (const LoweringChoice& choice : lowered.choices) choices.push_back(to_text(choice));
  EXPECT_THAT(choices,
              ElementsAre("kernel gated_silu: fallback, since it has no implementation for " +
                              compiler->target().accelerator.platform + " (only for cpu)",
                          "ragged_all_to_all: the compiler's own op"));
  EXPECT_NE(compiler->compile(two_forms()), nullptr);
}

TEST(LoweringForAbsentDevices, ATpuHasItsOwnRaggedAllToAll) {
  AXLE_NEEDS_PLUGIN("tpu");
  expect_native_rows("tpu:v5e:2x4");
}

TEST(LoweringForAbsentDevices, AGpuHasItsOwnRaggedAllToAll) {
  AXLE_NEEDS_PLUGIN("cuda");
  expect_native_rows("gpu:h100:1x8");
}

}  // namespace
}  // namespace axle
