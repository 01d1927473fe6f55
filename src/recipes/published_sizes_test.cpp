// The numbers of parameters that papers and model cards print.
#include <gtest/gtest.h>

#include "layers/experts/moe.h"
#include "layers/models/causal_lm.h"
#include "recipes/recipe.h"
#include "testing/test_name.h"
#include "train/config/trainer_config.h"

namespace axle {
namespace {

// Elements of the parameters and states whose path contains `part`.
int64_t num_elements(const Tree<ParamSpec>& specs, std::string_view part = "") {
  int64_t out = 0;
  for (const auto& [path, spec] : specs) {
    if (path.find(part) != std::string::npos) out += spec.type().num_elements();
  }
  return out;
}

struct Published {
  const char* recipe;
  int64_t num_parameters;
};
class PublishedSizes : public ::testing::TestWithParam<Published> {};

// Totals of the weights on Hugging Face, shared weights counted once. Totals of AXLearn's own
// recipes: comparison/parameter_table_parity_test.cpp.
TEST_P(PublishedSizes, MatchTheModelCards) {
  const auto model = recipe(GetParam().recipe).model.build({}, Scope{});
  EXPECT_EQ(num_elements(model->param_specs()), GetParam().num_parameters);
}
INSTANTIATE_TEST_SUITE_P(All, PublishedSizes,
                         ::testing::Values(Published{"gpt2-124M", 124'439'808},
                                           Published{"mixtral-8x7B", 46'702'792'704},
                                           Published{"qwen3-0.6B", 596'049'920},
                                           Published{"qwen3-1.7B", 1'720'574'976},
                                           Published{"qwen3-4B", 4'022'468'096},
                                           Published{"qwen3-8B", 8'190'735'360},
                                           Published{"qwen3-14B", 14'768'307'200},
                                           Published{"qwen3-32B", 32'762'123'264},
                                           Published{"qwen3-30B-A3B", 30'532'122'624},
                                           Published{"qwen3-235B-A22B", 235'093'634'560},
                                           Published{"gemma3-1B", 999'885'952}),
                         [](const auto& value) { return test_name(value.param.recipe); });

// Gemma Team 2025, arXiv 2503.19786, table 1: millions of parameters outside of the embedding.
// Its embedding of the larger models includes what connects the vision encoder.
TEST(PublishedSizes, Gemma3MatchesWithoutEmbedding) {
  for (const auto& [name, millions] :
       {Published{"gemma3-1B", 698}, Published{"gemma3-4B", 3209}, Published{"gemma3-12B", 10'759},
        Published{"gemma3-27B", 25'600}}) {
    const auto model = recipe(name).model.build({}, Scope{});
    const Tree<ParamSpec> all = model->param_specs();
    const int64_t embedding = num_elements(all, "/emb/");
    EXPECT_EQ(
        embedding,
        262'144 *
            int64_t{*recipe(name).model.get_if<CausalLM>()->decoder.get_if<Decoder>()->model_dim});
    EXPECT_EQ((num_elements(all) - embedding + 500'000) / 1'000'000, millions) << name;
  }
}

// The published weights without the module that predicts further tokens (model card: 671B). They
// count the biases of the routers, which are state here.
TEST(PublishedSizes, DeepSeekV3Matches) {
  const auto model = recipe("deepseek-v3-671B").model.build({}, Scope{});
  const int64_t biases = num_elements(model->state_specs(), "/bias");
  EXPECT_EQ(biases, 58 * 256);
  const int64_t all = num_elements(model->param_specs()) + biases;
  EXPECT_EQ(all, 671'026'419'200);
  // A token runs 8 of 256 experts. The published 37B leave out the embedding (its file
  // README_WEIGHTS.md: 36.6B).
  int64_t experts = 0;
  for (const auto& [path, spec] : model->param_specs())
    experts += spec.shape.size() == 4 && spec.shape[1] == 256 ? spec.type().num_elements() : 0;
  const int64_t embedding = num_elements(model->param_specs(), "/emb/");
  EXPECT_NEAR(static_cast<double>(all - experts / 256 * 248 - embedding), 36.6e9, 0.05e9);
}

// The published files (685B): besides the model they hold the module for the token after the next
// one, with copies of the embedding and of the LM head. The scales of 8-bit blocks are not counted.
TEST(PublishedSizes, DeepSeekV3MatchesWithItsPredictionModule) {
  const auto model = recipe("deepseek-v3-671B-mtp").model.build({}, Scope{});
  const Tree<ParamSpec> all = model->param_specs();
  const int64_t biases = num_elements(model->state_specs(), "/bias");
  EXPECT_EQ(biases, 59 * 256);
  const int64_t copies = num_elements(all, "/emb/") + num_elements(all, "/lm_head/");
  EXPECT_EQ(copies, 2 * 129'280 * 7168);
  const int64_t module = num_elements(all, "mtp_");
  EXPECT_EQ(num_elements(all) - module + 58 * 256, 671'026'419'200);
  EXPECT_EQ(num_elements(all) + biases + copies, 684'489'845'504);
}

}  // namespace
}  // namespace axle
