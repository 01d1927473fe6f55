#include "train/record/metrics.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "runtime/interpreter_runtime.h"

namespace axle {
namespace {

TEST(MetricValues, AreNamedAndANaNHasNoSign) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  InterpreterRuntime runtime(1);
  const Type scalar{DType::kF32, {}}, pair{DType::kF32, {2}};
  Program program;
  program.outputs = {{.name = "state", .type = scalar},
                     {.name = "loss", .type = scalar},
                     {.name = "norms", .type = pair}};
  const Arrays metrics = {
      runtime.make_array(HostTensor({}, {-kNaN}), {}, {}),
      runtime.make_array(HostTensor({2}, {-kNaN, -std::numeric_limits<float>::infinity()}), {},
                         {})};
  std::string text;
  for (const auto& [name, value] : metric_values(program, 1, metrics))
    text += fmt::format("{} {}; ", name, value);
  EXPECT_EQ(text, "loss nan; norms/0 nan; norms/1 -inf; ");
}

}  // namespace
}  // namespace axle
