// The estimate of a step's memory against what the CPU's compiler needs.
#include <gtest/gtest.h>

#include "plan/compile_report.h"
#include "runtime/memory_estimate.h"

namespace axle {
namespace {

// `train` and `config check` refuse what does not fit by the estimate: it must be a lower bound. If
// it were a far lower one, they would let pass what the compiled step is refused for.
TEST(MemoryEstimate, IsALowerBoundOnACpu) {
  for (const auto& [recipe, rows, least_share] :
       {std::tuple("quickstart", "16", 0.9), std::tuple("gpt2-124M", "4", 0.6),
        std::tuple("mamba2-test", "none", 0.7), std::tuple("fuji-test-v1", "none", 0.7),
        std::tuple("mixtral-test", "none", 0.5)}) {
    ResolveRequest request{.recipe = recipe};
    if (std::string(rows) != "none") request.edits = {SetField{"input.batch_size", rows}};
    const Target target = parse_target("cpu:1");
    const LoweredStep step = lower_step(resolve_config(request).config, recipe, target);
    const double estimated = estimate_memory(step.program).temporary_bytes;
    const CompileReport report = compile_step(step);
    ASSERT_TRUE(report.memory);
    const double compiled = static_cast<double>(report.memory->temporary_bytes);
    EXPECT_LE(estimated, 1.01 * compiled) << recipe << " of rows " << rows;
    EXPECT_GE(estimated, least_share * compiled) << recipe << " of rows " << rows;
  }
}

}  // namespace
}  // namespace axle
