// Real models in GGUF files: the greedy texts of llama.cpp (tools/oracle/gguf_greedy.py).
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/text/json.h"
#include "infer/generator.h"
#include "interop/model_folder.h"
#include "io/file.h"
#include "pjrt/pjrt_runtime.h"
#include "testing/checkout.h"
#include "testing/foreign_data.h"
#include "testing/needs_plugin.h"

namespace axle {
namespace {

class GgufTextsForeign : public ForeignDataTest,
                         public ::testing::WithParamInterface<const char*> {};

// llama.cpp computes with the weights as f32, as Axle does.
TEST_P(GgufTextsForeign, GreedyTokensMatchLlamaCpp) {
  AXLE_NEEDS_FILES(GetParam());
  AXLE_NEEDS_PLUGIN("cpu");
  const std::string name = std::filesystem::path(GetParam()).filename();
  const auto cases = read_json(read_file(reference_file("gguf/greedy.json"))).at(name);
  const LoadedModel model = load_model(file(GetParam()));
  const auto runtime = make_runtime({});
  Generator generator(*model.model, model.parameters, *runtime,
                      {.context_len = model.context_len, .compute_dtype = model.compute_dtype});
  ASSERT_EQ(cases.size(), 20u);
  std::vector<TokenIds> prompts;
  for (const auto& row : cases) {
    const auto text = row.at("text").get<std::string>();
    prompts.push_back(model.tokenizer->framed(model.tokenizer->encode(text)));
    EXPECT_EQ(prompts.back(), row.at("ids").get<TokenIds>()) << text;
  }
  constexpr size_t kTokens = 64;
  const Generated out =
      generator.generate(prompts, {.sampling = {.temperature = 0}, .max_tokens = kTokens});
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto expected = cases[i].at("greedy").get<TokenIds>();
    const TokenIds& own = out.rows[i].tokens;
    ASSERT_EQ(own.size(), kTokens);
    const auto at = static_cast<size_t>(std::ranges::mismatch(own, expected).in1 - own.begin());
    EXPECT_EQ(at, kTokens) << cases[i].at("text")
                           << ": llama.cpp's two best logits came as near as "
                           << cases[i].at("closest");
  }
}

INSTANTIATE_TEST_SUITE_P(Files, GgufTextsForeign,
                         ::testing::Values("gguf/smollm2-135m-instruct-q4_1.gguf",
                                           "gguf/gemma-3-270m-q4_k_m.gguf"),
                         [](const auto& at) { return at.index == 0 ? "SmolLM2" : "Gemma3"; });

}  // namespace
}  // namespace axle
