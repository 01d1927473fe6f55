// The training step of every recipe: its ops, its FLOPs, and the losses that it trains. A recipe
// that does not trace, or that drops a loss, cannot land.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "layers/models/causal_lm.h"
#include "layers/pipeline/pipeline.h"
#include "plan/graph/layer_table.h"
#include "recipes/recipe.h"
#include "recipes/resolve/use_data.h"
#include "testing/golden.h"
#include "testing/peak_memory.h"
#include "testing/test_name.h"
#include "train/config/run_modules.h"
#include "train/program/model_flops.h"

namespace axle {
namespace {

class RecipeTrace : public ::testing::TestWithParam<std::string> {};

// Returns the least rows of a batch: one for each microbatch of a pipeline.
int64_t least_rows(const Trainer::Config& config) {
  const auto* model = config.model.get_if<CausalLM>();
  const auto* decoder = model ? model->decoder.get_if<Decoder>() : nullptr;
  const auto* pipeline = decoder ? decoder->layers.get_if<Pipeline>() : nullptr;
  return pipeline ? int64_t{*pipeline->num_microbatches} : 1;
}

// Nothing of the model's size is allocated: the step is traced from types alone.
TEST_P(RecipeTrace, MatchesGolden) {
  const int64_t before = peak_resident_bytes();
  Trainer::Config config = recipe(GetParam());
  UseData{kSyntheticData}.apply_to(config);
  const RunModules training(config);
  Tree<Type> batch = training.make_input()->element_spec();
  int64_t num_tokens = 0, num_parameters = 0;
  for (auto& [name, type] : batch) {
    type.dims[0] = least_rows(config);
    if (name == "input_ids") num_tokens = type.num_elements();
  }
  for (const auto& [path, spec] : training.model->param_specs())
    num_parameters += spec.type().num_elements();
  const ProgramSpec parts = training.program_spec({}, batch);

  std::string text = fmt::format("parameters: {}\n", num_parameters);
  text += fmt::format("model FLOP per token of {}: {:.6g}\n", num_tokens,
                      model_flops(parts).count / static_cast<double>(num_tokens));
  const Program step = step_program(parts);
  text += "losses and metrics:";
  for (size_t i = step.inputs.size() - batch.size(); i < step.outputs.size(); ++i)
    text += " " + step.outputs[i].name;
  text += "\n" + to_text(op_counts(*step.graph, ""));
  EXPECT_LT(peak_resident_bytes() - before, 256 << 20);
  testing::expect_golden("recipes/" + GetParam() + ".trace.txt", text);
}

INSTANTIATE_TEST_SUITE_P(All, RecipeTrace, ::testing::ValuesIn(recipe_names()), kNamedByText);

}  // namespace
}  // namespace axle
