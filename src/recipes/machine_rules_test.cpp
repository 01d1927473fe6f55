// Every recipe knows what to do on one GPU, on a host of eight and on CPUs.
#include <gtest/gtest.h>

#include "data/text_input.h"
#include "recipes/language_model.h"
#include "recipes/recipe.h"
#include "recipes/resolve/resolve.h"

namespace axle {
namespace {

Resolved on(const std::string& recipe, const std::string& machine) {
  return resolve_config({.recipe = recipe, .machine = machine});
}
int64_t tokens_of_batch(const Trainer::Config& config) {
  const auto& input = *config.input.get_if<TextInput>();
  return input.seq_len * input.batch_size;
}

// A batch that one GPU computes at once needs no rule.
TEST(MachineRules, SplitTheBatchOnOneGpuAndOnAHost) {
  for (const std::string& name : recipe_names()) {
    for (const int64_t num_gpus : {1, 8}) {
      const std::string machine = "gpu-H100-" + std::to_string(num_gpus);
      SCOPED_TRACE(name + " on " + machine);
      const Resolved got = on(name, machine);
      EXPECT_TRUE(got.report.unmatched_rules.empty());
      if (tokens_of_batch(got.config) <= kTokensOfGpu) continue;
      EXPECT_NE(got.report.mesh_rule, "");
      const auto& rows = got.config.learner.get_if<Learner>()->microbatch_rows;
      ASSERT_TRUE(rows);
      EXPECT_EQ(*rows, rows_of_gpus(num_gpus, got.config.input.get_if<TextInput>()->seq_len));
    }
  }
}

// Nobody who trains on CPUs reads of rules of other machines.
TEST(MachineRules, FitCpusWhereThereAreAny) {
  for (const std::string& name : recipe_names()) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(on(name, "cpu-2").report.unmatched_rules.empty());
  }
}

}  // namespace
}  // namespace axle
