// Ops that the CPU's compiler lacks.
#include <gmock/gmock.h>

#include "lower/stablehlo.h"
#include "pjrt/compile/compile_options.h"
#include "pjrt/pjrt_runtime.h"
#include "testing/collective_samples.h"
#include "testing/plugin_fixture.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using testing::kMesh;
using ::testing::StartsWith;

class TargetLowering : public PluginTest {
 protected:
  TargetLowering() : PluginTest(kMesh) {}
  const PjrtRuntime& runtime() const { return dynamic_cast<const PjrtRuntime&>(*runtime_); }
};

Values exchange_rows(const Values& v) {
  return shard_map([](const Values& p) { return Values{testing::sent_rows(p[0])}; }, v,
                   testing::over({{{"model"}}}, {{{"model"}}}));
}

TEST_F(TargetLowering, MaskedExchangeReplacesRaggedAllToAll) {
  expect_same(exchange_rows, {testing::normal_values({8, 4}, 1)}, 0);
  const Program p = trace_program("rows", exchange_rows, {{"x", {DType::kF32, {8, 4}}}},
                                  {{"y", {DType::kF32, {12, 4}}}}, kMesh);
  const Program lowered = lowered_for(p, runtime().lowering_target());
  ASSERT_EQ(lowered.choices.size(), 1u);
  EXPECT_THAT(to_text(lowered.choices[0]),
              StartsWith("ragged_all_to_all: masked all_to_all, since the compiler refuses it: "));
}

TEST_F(TargetLowering, AFallbackIsReportedOnce) {
  const Program p{.name = "step",
                  .choices = {{"kernel a", "first", "fallback", "it is new"},
                              {"kernel a", "second", "fallback", "it is new"},
                              {"kernel b", "first", "host kernel 1", ""}}};
  ::testing::internal::CaptureStderr();
  report_fallbacks(p);
  report_fallbacks(p);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "WARNING: program 'step': kernel a of first: fallback, since it is new\n");
}

TEST_F(TargetLowering, CompilerIsAskedOnce) {
  int num_compiled = 0;
  Topology topology = runtime().topology();
  topology.platform_version = "one that no other test has";
  const auto target = [&] {
    return lowering_target(runtime().plugin(), topology, [&](const Program& program) {
      ++num_compiled;
      EXPECT_THAT(program.text, HasSubstr("\"ragged_all_to_all\""));
      throw DeviceError("too hard\nfor it");
    });
  };
  EXPECT_EQ(target().lacks("ragged_all_to_all"), "the compiler refuses it: too hard");
  EXPECT_EQ(target().lacks("ragged_all_to_all"), "the compiler refuses it: too hard");
  EXPECT_EQ(num_compiled, 1);
}

}  // namespace
}  // namespace axle
