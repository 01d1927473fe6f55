// Every recipe can be traced, differentiated and lowered, whatever its size.
#include <gtest/gtest.h>

#include "recipes/use_data.h"
#include "train/programs.h"

namespace axle {
namespace {

class RecipePrograms : public testing::TestWithParam<std::string> {};

TEST_P(RecipePrograms, Lower) {
  Trainer::Config config = recipe(GetParam());
  use_data(config, kSyntheticData);
  const auto model = config.model.build({}, Scope{.path = "model"});
  const auto learner =
      config.learner.build({.params = model->param_specs()}, Scope{.path = "learner"});
  const auto input =
      config.input.build({.vocab_size = model->vocab_size(), .seed = 0}, Scope{.path = "input"});
  const ProgramParts parts{.model = *model,
                           .learner = learner.get(),
                           .batch = input->element_spec(),
                           .mesh = infer_mesh(config.mesh, config.mesh.size("fsdp") == 8 ? 8 : 1),
                           .batch_partition = config.batch_partition,
                           .compute_dtype = config.compute_dtype};
  for (const Program& program : {step_program(parts), eval_program(parts), init_program(parts)}) {
    EXPECT_NE(program.text.find("func.func public @main"), std::string::npos) << program.name;
    EXPECT_LT(program.text.size(), 4u << 20) << program.name;
  }
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, RecipePrograms, testing::ValuesIn(recipe_names()), test_name);

TEST(RecipePrograms, OfALoopDoNotGrowWithTheNumberOfLayers) {
  const auto num_ops = [](int64_t num_layers) {
    Trainer::Config config = recipe("fuji-7B-v2");
    config.model.get_if<CausalLM>()
        ->decoder.get_if<Decoder>()
        ->layers.get_if<Repeat>()
        ->num_layers = num_layers;
    const auto model = config.model.build({}, Scope{.path = "model"});
    const auto learner =
        config.learner.build({.params = model->param_specs()}, Scope{.path = "learner"});
    return step_program({.model = *model, .learner = learner.get(), .batch = batch_spec(8, 128)})
        .graph->ops()
        .size();
  };
  EXPECT_EQ(num_ops(2), num_ops(32));
}

}  // namespace
}  // namespace axle
