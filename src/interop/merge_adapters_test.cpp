#include <fmt/format.h>
#include <gmock/gmock.h>

#include "data/text_input.h"
#include "interop/peft_adapters.h"
#include "interop/tiny_model_test.h"
#include "io/file.h"
#include "layers/blocks/stack.h"
#include "layers/models/causal_lm.h"
#include "modifiers/products/product_modifiers.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"
#include "testing/test_layer.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

HostTensor logits(Model& model, const Tree<HostTensor>& parameters) {
  HostTensor ids(Type{DType::kI32, {2, 5}});
  for (size_t i = 0; i < 10; ++i) ids.values<int32_t>()[i] = static_cast<int32_t>(31 * i % 257);
  return testing::call_layer(model, parameters, {{"batch/input_ids", ids}}, {.method = "logits"})
      .outputs[0];
}

class MergeAdapters : public ::testing::Test {
 protected:
  void save(const Child<Model>& config, const std::string& name,
            const Child<Tokenizer>& tokenizer = ByteTokenizer::Config{}) {
    const auto model = config.build({}, Scope{.path = "model"});
    save_model(dir_.path() / name,
               {.model = config,
                .tokenizer = tokenizer,
                .parameters = subtree(testing::jittered_parameters(*model), "model"),
                .context_len = 8,
                .compute_dtype = DType::kF32});
  }
  TempDir dir_;
};

Child<Model> adapted_model(Child<Block> layers) {
  Child<Model> config = CausalLM::Config{
      .decoder = Decoder::Config{.model_dim = 16, .vocab_size = 257, .layers = std::move(layers)}};
  apply_modifier(Lora::Config{.rank = 2}, "modify[0]", config);
  return config;
}

TEST_F(MergeAdapters, PlainModelHasTheSameLogits) {
  save(adapted_model(Repeat::Config{.num_layers = 2, .layer = tiny_layer()}), "adapted");
  const MergeReport report = merge_adapters(dir_.path() / "adapted", dir_.path() / "merged");
  EXPECT_EQ(to_text(report), fmt::format("{}: 5 adapters merged into the weights of step 0\n",
                                         (dir_.path() / "merged").string()));
  const LoadedModel adapted = load_model(dir_.path() / "adapted"),
                    merged = load_model(dir_.path() / "merged");
  EXPECT_EQ(merged.context_len, 8);
  EXPECT_EQ(merged.compute_dtype, DType::kF32);
  for (const auto& [path, value] : merged.parameters)
    EXPECT_EQ(path.find("lora"), std::string::npos) << path;
  EXPECT_LE(testing::relative_difference(logits(*merged.model, merged.parameters),
                                         logits(*adapted.model, adapted.parameters)),
            2e-5);
}

TEST_F(MergeAdapters, ARunOnSyntheticDataHasNoTokenizer) {
  save(adapted_model(Repeat::Config{.num_layers = 2, .layer = tiny_layer()}), "adapted", {});
  const std::filesystem::path dir = dir_.path() / "merged";
  EXPECT_EQ(merge_adapters(dir_.path() / "adapted", dir).num_adapters, 5);
  const auto load = [](const std::filesystem::path& from) {
    return load_model(from, Weights::kTrained, report_to_stderr, RunData::kAny);
  };
  const LoadedModel adapted = load(dir_.path() / "adapted"), merged = load(dir);
  EXPECT_EQ(merged.context_len, 8);
  EXPECT_FALSE(merged.tokenizer);
  EXPECT_LE(testing::relative_difference(logits(*merged.model, merged.parameters),
                                         logits(*adapted.model, adapted.parameters)),
            2e-5);
  EXPECT_THAT(read_file(dir / "config.yaml"), HasSubstr("class: SyntheticInput\n  seq_len: 8\n"));
  EXPECT_THAT(error_of([&] { load_model(dir); }),
              HasSubstr("input.tokenizer: expected a class with its fields, got none; an import "
                        "without a tokenizer (--tokenizer) and a run on synthetic data have none"));
}

// An evaluation reads the lengths of rows and batches from the folder.
TEST_F(MergeAdapters, KeepsTheInputAndTheStepOfTheRun) {
  Child<Model> config = adapted_model(Stacked::Config{.num_layers = 1, .layer = tiny_layer()});
  config.get_if<CausalLM>()->decoder.get_if<Decoder>()->max_seq_len = 16;
  const auto model = config.build({}, Scope{.path = "model"});
  save_model(dir_.path() / "adapted",
             {.model = config,
              .parameters = subtree(testing::jittered_parameters(*model), "model"),
              .context_len = 16,
              .input = TextInput::Config{.seq_len = 8, .batch_size = 3},
              .step = 12});
  const MergeReport report = merge_adapters(dir_.path() / "adapted", dir_.path() / "merged");
  EXPECT_EQ(report.step, 12);
  const LoadedModel merged = load_model(dir_.path() / "merged");
  EXPECT_EQ(merged.step, 12);
  EXPECT_EQ(merged.context_len, 16);
  EXPECT_EQ(merged.input.at("seq_len"), "8");
  EXPECT_EQ(merged.input.at("batch_size"), "3");
}

TEST_F(MergeAdapters, RefusesAModelWithoutAdapters) {
  Child<Model> config = adapted_model(Stacked::Config{.num_layers = 1, .layer = tiny_layer()});
  remove_adapters(config);
  save(config, "plain");
  EXPECT_THAT(error_of([&] { merge_adapters(dir_.path() / "plain", dir_.path() / "merged"); }),
              HasSubstr("expected a model with adapters (LoraProduct), got one without"));
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "merged"));
}

}  // namespace
}  // namespace axle
