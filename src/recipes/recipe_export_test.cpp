// The models of recipes as other programs describe them.
#include <gmock/gmock.h>

#include <map>

#include "base/error.h"
#include "config/set.h"
#include "interop/export/hugging_face_export.h"
#include "interop/hugging_face.h"
#include "interop/save_model.h"
#include "layers/models/causal_lm.h"
#include "recipes/recipe.h"
#include "testing/error_of.h"
#include "testing/layer_call.h"
#include "testing/temp_dir.h"
#include "testing/test_name.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

struct Row {
  const char *recipe, *family;
};
class FamilyOfRecipe : public ::testing::TestWithParam<Row> {};

TEST_P(FamilyOfRecipe, DescribesThePublishedModel) {
  EXPECT_EQ(described(recipe(GetParam().recipe).model, "", "run").family->model_type,
            GetParam().family);
}
INSTANTIATE_TEST_SUITE_P(
    All, FamilyOfRecipe,
    ::testing::Values(Row{"fuji-7B-v1", "llama"}, Row{"fuji-8B-v3-tiktoken", "llama"},
                      Row{"gemma3-1B", "gemma3_text"}, Row{"gemma3-27B", "gemma3_text"},
                      Row{"gpt2-124M", "gpt2"}, Row{"mixtral-8x7B", "mixtral"},
                      Row{"qwen3-0.6B", "qwen3"}, Row{"qwen3-30B-A3B", "qwen3_moe"},
                      Row{"mamba2-130M", "mamba2"}, Row{"deepseek-v3-671B", "deepseek_v3"}),
    [](const auto& row) { return test_name(row.param.recipe); });

TEST(RecipeExport, RefusalNamesTheNearestFamily) {
  for (const char* name : {"envy-test", "gala-test", "gspmd-16B", "honeycrisp-test"}) {
    EXPECT_THAT(error_of([&] { described(recipe(name).model, "", "run"); }),
                HasSubstr("it comes nearest to "))
        << name;
  }
}

class ExportOfRecipe : public ::testing::TestWithParam<const char*> {
 protected:
  static HostTensor logits(const Child<Model>& config, const Tree<HostTensor>& parameters) {
    const HostTensor ids({2, 8}, {1, 5, 9, 2, 30, 7, 31, 3, 3, 0, 11, 8, 4, 4, 20, 6});
    return testing::call_layer(*config.build({}, Scope{.path = "model"}), parameters,
                               {{"batch/input_ids", ids}}, {.method = "logits"})
        .outputs[0];
  }
};

TEST_P(ExportOfRecipe, LogitsStayTheSame) {
  Trainer::Config cfg = recipe(GetParam());
  if (std::string(GetParam()) == "gpt2-124M") {
    for (const auto& [path, value] : std::map<std::string, std::string>{
             {"model.decoder.model_dim", "32"},
             {"model.decoder.vocab_size", "40"},
             {"model.decoder.layers.num_layers", "2"},
             {"model.decoder.layers.layer.attention.body.num_heads", "4"}})
      set(cfg, path, value);
  }
  if (std::string(GetParam()) == "deepseek-v3-test")  // its family has one epsilon for all norms
    set(cfg, "model.decoder.output_norm.eps", "1e-6");
  const Child<Model> model = cfg.model;
  const auto built = model.build({}, Scope{.path = "model"});
  const Tree<HostTensor> parameters = testing::initial_parameters(*built, 3);
  Tree<HostTensor> state;
  testing::add_initial_state(*built, state);
  const TempDir dir;
  save_model(dir / "run", {.model = model,
                           .tokenizer = {},
                           .parameters = subtree(parameters, "model"),
                           .layer_state = std::move(state),
                           .context_len = 16});
  export_hugging_face({.options = {.run = dir / "run"}, .dir = dir / "out"},
                      [](const std::string&) {});
  const ImportedModel read = read_hugging_face(dir / "out");
  Tree<HostTensor> theirs;
  put_subtree(theirs, "model", read.parameters);
  const HostTensor a = logits(model, parameters), b = logits(read.model, theirs);
  ASSERT_EQ(a.shape(), b.shape());
  for (int64_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a.at(i), b.at(i), 1e-4) << i;
}
INSTANTIATE_TEST_SUITE_P(All, ExportOfRecipe,
                         ::testing::Values("quickstart", "fuji-test-v3", "gemma3-test",
                                           "qwen3-test", "mixtral-test", "mamba2-test",
                                           "deepseek-v3-test", "gpt2-124M"),
                         [](const auto& name) { return test_name(name.param); });

}  // namespace
}  // namespace axle
