// Every recipe can be traced, differentiated and lowered, at any size.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "layers/models/causal_lm.h"
#include "recipes/recipe.h"
#include "recipes/resolve/resolve.h"
#include "recipes/resolve/use_data.h"
#include "targets/target.h"
#include "testing/error_of.h"
#include "testing/test_name.h"
#include "train/config/run_modules.h"

namespace axle {
namespace {

class RecipePrograms : public ::testing::TestWithParam<std::string> {};

TEST_P(RecipePrograms, Lower) {
  Trainer::Config config = recipe(GetParam());
  UseData{kSyntheticData}.apply_to(config);
  const RunModules training(config);
  int64_t num_devices = 1;  // the least that the mesh takes
  for (const MeshAxis& axis : config.mesh.axes) num_devices *= std::max<int64_t>(axis.size, 1);
  const Mesh mesh = infer_mesh(config.mesh, num_devices);
  const ProgramSpec parts = training.program_spec(mesh, training.make_input()->element_spec());
  for (const Program& program : {step_program(parts), eval_program(parts), init_program(parts)}) {
    EXPECT_NE(program.text.find("func.func public @main"), std::string::npos) << program.name;
    EXPECT_LT(program.text.size(), 4u << 20) << program.name;
  }
}

// Batches of the run and of each evaluation, sharded over the mesh of each machine.
TEST_P(RecipePrograms, EvaluationsFitEveryMeshThatTrainingFits) {
  int fitting = 0;
  for (const char* machine :
       {"tpu-v5litepod-256", "tpu-v5litepod-256-4", "tpu-v5litepod-16", "tpu-v6e-256", "tpu-v5p-64",
        "tpu-v5p-512", "tpu-v5p-1024", "gpu-H100-8", "gpu-H100-256", "gpu-H200-512", "gpu-A100-64",
        "neuron-trn2.48xlarge-64", "neuron-trn2.48xlarge-1024", "cpu-16"}) {
    const Target target = parse_target(machine);
    const Trainer::Config config =
        resolve_config(
            {.recipe = GetParam(), .edits = {UseData{kSyntheticData}}, .machine = target.machine()})
            .config;
    const RunModules training(config);
    const auto check = [&](const Child<Input>& input, const char* name) {
      const Mesh mesh = infer_mesh(config.mesh, target.num_devices());
      const auto built = input.build(training.input_dims, Scope{.path = name});
      for (const ProgramValue& v : batch_inputs(training.program_spec(mesh, built->element_spec())))
        check_partition(v.name, v.type.dims, v.sharding, mesh);
    };
    const std::string refused = error_of([&] { check(config.input, "input"); });
    fitting += refused == "no error";
    for (const auto& [name, evaler] : config.evalers)
      EXPECT_EQ(error_of([&] { check(evaler.input, "evaler"); }), refused) << machine;
  }
  // The published recipes have batches for large machines.
  EXPECT_GE(fitting, GetParam().find("B-v") != std::string::npos ? 10 : 3);
}

INSTANTIATE_TEST_SUITE_P(All, RecipePrograms, ::testing::ValuesIn(recipe_names()), kNamedByText);

// Each pair of devices has one row of a microbatch, and room for the choices of the 63 others.
TEST(RecipePrograms, DeepSeekV3LowersForItsCluster) {
  const Target target = parse_target("gpu-H100-2048");
  const Trainer::Config config = resolve_config({.recipe = "deepseek-v3-671B-mtp",
                                                 .edits = {UseData{kSyntheticData}},
                                                 .machine = target.machine()})
                                     .config;
  const Mesh mesh = infer_mesh(config.mesh, target.num_devices());
  EXPECT_EQ(to_text(mesh), "data=4,expert=64,fsdp=4,seq=2");
  const RunModules training(config);
  const Program step =
      step_program(training.program_spec(mesh, training.make_input()->element_spec()));
  constexpr int64_t kTokens = 4096 / 2, kExpertsOfADevice = 256 / 64;
  EXPECT_NE(step.text.find(fmt::format("tensor<{}x7168xbf16>", 64 * kTokens * kExpertsOfADevice)),
            std::string::npos);
}

TEST(RecipePrograms, LoopDoesNotGrowWithTheNumberOfLayers) {
  const auto num_ops = [](int64_t num_layers) {
    Trainer::Config config = recipe("fuji-7B-v2");
    config.model.get_if<CausalLM>()
        ->decoder.get_if<Decoder>()
        ->layers.get_if<Repeat>()
        ->num_layers = num_layers;
    UseData{kSyntheticData}.apply_to(config);
    const RunModules training(config);
    return step_program(training.program_spec({}, batch_spec(8, 128))).graph->ops().size();
  };
  EXPECT_EQ(num_ops(2), num_ops(32));
}

}  // namespace
}  // namespace axle
