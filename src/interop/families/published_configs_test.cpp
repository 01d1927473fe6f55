// The config.json of published models, as they stand there: none is refused, and the model has the
// number of parameters that is published with it.
#include "interop/families/published_configs_test.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "interop/families/family.h"
#include "layers/models/causal_lm.h"

namespace axle {
namespace {

struct Size {
  int64_t vocab_size = 0, context_len = 0, num_parameters = 0;
};

Child<Model> model_of(const char* text, const std::vector<std::string>& ignored) {
  const ForeignConfig config(nlohmann::ordered_json::parse(text), "config.json");
  Child<Model> out = family_of(config).model(config);
  config.check_all_read(ignored);
  return out;
}

void expect_size(const char* text, const Size& size, const std::vector<std::string>& ignored = {}) {
  const auto model = model_of(text, ignored).build({}, Scope{.path = "model"});
  int64_t count = 0;
  for (const auto& [path, spec] : model->param_specs()) count += spec.type().num_elements();
  EXPECT_EQ(model->vocab_size(), size.vocab_size);
  EXPECT_EQ(model->max_seq_len().value_or(0), size.context_len);
  EXPECT_EQ(count, size.num_parameters);
}

TEST(PublishedConfigs, Llama) {
  expect_size(published::kLlama31_8B, {128256, 131072, 8'030'261'248});
  expect_size(published::kLlama32_1B, {128256, 131072, 1'235'814'400});
  expect_size(published::kLlama2_7B, {32000, 4096, 6'738'415'616});
}

TEST(PublishedConfigs, SmolLM2) {
  expect_size(published::kSmolLM2_135M, {49152, 8192, 134'515'008});
}

TEST(PublishedConfigs, Mistral) {
  expect_size(published::kMistral7B, {32768, 32768, 7'248'023'552});
  expect_size(published::kMixtral8x7B, {32000, 32768, 46'702'792'704});
}

TEST(PublishedConfigs, Qwen) {
  expect_size(published::kQwen25_05B, {151936, 32768, 494'032'768});
  expect_size(published::kQwen25_7B, {152064, 131072, 7'615'616'512});
  expect_size(published::kQwen3_06B, {151936, 40960, 596'049'920});
  expect_size(published::kQwen3_30B, {151936, 40960, 30'532'122'624});
}

TEST(PublishedConfigs, Gemma) {
  expect_size(published::kGemma2_2B, {256000, 8192, 2'614'341'888});
  expect_size(published::kGemma3_1B, {262144, 32768, 999'885'952});
  expect_size(published::kGemma3_270M, {262144, 32768, 268'098'176});
}

TEST(PublishedConfigs, Gpt2) { expect_size(published::kGpt2, {50257, 1024, 124'439'808}); }

TEST(PublishedConfigs, Olmo2) { expect_size(published::kOlmo2_7B, {100352, 4096, 7'298'617'344}); }

TEST(PublishedConfigs, Phi3) {
  expect_size(published::kPhi3Mini, {32064, 4096, 3'821'079'552});
  expect_size(published::kPhi35Mini, {32064, 131072, 3'821'079'552});
  expect_size(published::kPhi4Mini, {200064, 131072, 3'836'021'760});
}

// Without the module for a further token, which has 11.5e9 parameters of the published 685e9, and
// without the 58 * 256 offsets that balance experts, which are state.
TEST(PublishedConfigs, DeepSeekV3) {
  expect_size(published::kDeepSeekV3, {129280, 163840, 671'026'404'352}, {"quantization_config"});
}

TEST(PublishedConfigs, Mamba2) {
  expect_size(published::kMambaCodestral7B, {32768, 0, 7'285'403'648});
}

}  // namespace
}  // namespace axle
