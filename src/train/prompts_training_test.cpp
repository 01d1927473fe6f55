// Prefix language models and streams of positions, from text through training and evaluation to
// generation.
#include "data/text_input.h"
#include "infer/text_generator.h"
#include "interop/model_folder.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/pipeline/pipeline.h"
#include "runtime/interpreter_runtime.h"
#include "testing/layer_call.h"
#include "train/evaluation/evaler.h"
#include "train/trainer_run_test.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

class PromptsTraining : public TrainerTest {
 protected:
  PromptsTraining() {
    std::string text;
    for (int i = 0; i < 60; ++i) text += "what is " + std::to_string(i) + "?\tit is a number\n\n";
    replace_file(dir_ / "questions.txt", text);
  }
  Trainer::Config over_questions(Attention::Config attention) const {
    Trainer::Config config = config_of(3);
    TransformerLayer::Config layer = tiny_layer();
    layer.attention.get_if<PreNorm>()->body = std::move(attention);
    config.model = tiny_model(Repeat::Config{.num_layers = 2, .layer = layer});
    config.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->vocab_size = 264;
    const TextInput::Config input{.source = TextSource::Config{.path = (dir_ / "questions.txt"),
                                                               .unit = DocumentUnit::kParagraph},
                                  .seq_len = 64,
                                  .batch_size = 4,
                                  .split = Split::kTrain,
                                  .prompt = Prompt{.until = "\t"}};
    config.input = input;
    TextInput::Config held_out{.epochs = 1, .split = Split::kHeldOut};
    held_out.source = TextSource::Config{};
    config.evalers = {{"held_out", {.input = held_out, .every_steps = 3}}};
    return config;
  }
  Trainer::Config prefix_lm() const {
    return over_questions(
        {.num_heads = 4,
         .qkv = RoPE::Config{},
         .mask = AnyOf::Config{.masks = {CausalMask::Config{}, PrefixMask::Config{}}}});
  }
  Trainer::Config with_streams() const {
    using enum PositionStream;
    Trainer::Config config =
        over_questions({.num_heads = 2,
                        .head_dim = 8,
                        .qkv = RoPE::Config{.streams = PositionStreams{.sections = {1, 1, 2}}}});
    auto& input = *config.input.get_if<TextInput>();
    input.prompt = std::nullopt;
    input.position_streams = {kToken, kLine, kColumn};
    return config;
  }

  // Generates greedily, and expects the tokens that one call for the whole text finds.
  void expect_generation_of_training(const std::string& prompt) {
    const LoadedModel loaded = load_model(run());
    InterpreterRuntime runtime{1};
    TextGenerator generator(load_model(run()), runtime);
    const GeneratedText out = generator.generate(prompt, {.max_tokens = 6});
    TokenIds ids = loaded.tokenizer->encode(prompt);
    if (const auto bos = loaded.tokenizer->special_ids().bos) ids.insert(ids.begin(), *bos);
    const auto prompt_len = static_cast<int32_t>(ids.size());
    ids.insert(ids.end(), out.row.tokens.begin(), out.row.tokens.end());
    const auto length = static_cast<int64_t>(ids.size());
    Tree<HostTensor> inputs{
        {"batch/input_ids", HostTensor({1, length}, std::span<const int32_t>(ids))},
        {"batch/prefix_lengths", HostTensor({1}, {prompt_len})}};
    const auto num_streams = static_cast<int64_t>(loaded.streams.streams.size());
    if (num_streams > 0) {
      HostTensor streams(Type{DType::kI32, {1, length, num_streams}});
      loaded.streams.fill(ids, streams.values<int32_t>());
      inputs.emplace("batch/position_streams", streams);
    }
    const HostTensor logits =
        testing::call_layer(*loaded.model, loaded.parameters, inputs, {.method = "logits"})
            .outputs[0];
    ASSERT_FALSE(out.row.tokens.empty());
    for (size_t i = 0; i < out.row.tokens.size(); ++i) {
      const int64_t row = (prompt_len - 1 + static_cast<int64_t>(i)) * 264;
      int32_t best = 0;
      for (int32_t v = 1; v < 264; ++v) {
        if (logits.at(row + v) > logits.at(row + best)) best = v;
      }
      EXPECT_EQ(out.row.tokens[i], best) << "token " << i;
    }
  }
};

TEST_F(PromptsTraining, PrefixModelsTrainEvaluateAndGenerate) {
  const Ended ended = train(prefix_lm());
  ASSERT_EQ(ended.code, ExitCode::kOk) << ended.error;
  EXPECT_THAT(ended.out + ended.err, HasSubstr("held_out"));
  expect_generation_of_training("what is 7?\t");
}

TEST_F(PromptsTraining, StreamsTrainEvaluateAndGenerate) {
  const Ended ended = train(with_streams());
  ASSERT_EQ(ended.code, ExitCode::kOk) << ended.error;
  expect_generation_of_training("what\nis\n\n7");
}

TEST_F(PromptsTraining, StreamsThatNoLayerReadsAreRefused) {
  Trainer::Config config = over_questions({.num_heads = 2, .qkv = RoPE::Config{}});
  config.input.get_if<TextInput>()->position_streams = {PositionStream::kToken};
  const Ended ended = train(config);
  EXPECT_EQ(ended.code, ExitCode::kUser);
  EXPECT_THAT(ended.error,
              HasSubstr("input.position_streams: expected a model with a layer that reads them"));
}

// In packed rows a token sees the prompt of its own document, and no other document.
TEST_F(PromptsTraining, DocumentsOfARowDoNotSeeEachOther) {
  const Trainer::Config config = prefix_lm();
  const auto model = config.model.build({}, Scope{.path = "model"});
  const Tree<HostTensor> parameters = testing::initial_parameters(*model, 1);
  const HostTensor ids({1, 6}, {1, 2, 3, 4, 5, 6}), segments({1, 6}, {1, 1, 1, 2, 2, 2}),
      prefix({1, 6}, {2, 2, 2, 5, 5, 5});
  const auto logits = [&](const HostTensor& tokens) {
    return testing::call_layer(*model, parameters,
                               {{"batch/input_ids", tokens},
                                {"batch/input_segment_ids", segments},
                                {"batch/prefix_lengths", prefix}},
                               {.method = "logits"})
        .outputs[0];
  };
  const HostTensor before = logits(ids);
  for (int64_t changed = 0; changed < 6; ++changed) {
    HostTensor other = ids;
    other.values<int32_t>()[static_cast<size_t>(changed)] = 9;
    const HostTensor after = logits(other);
    for (int64_t t = 0; t < 6; ++t) {
      const bool same_document = t / 3 == changed / 3;
      const bool in_prompt = changed % 3 < 2;
      bool moved = false;
      for (int64_t v = 0; v < 264; ++v) moved |= before.at(t * 264 + v) != after.at(t * 264 + v);
      EXPECT_EQ(moved, same_document && (in_prompt || changed <= t)) << t << " by " << changed;
    }
  }
}

TEST_F(PromptsTraining, PromptsAndLossesWorkInPipelinesAndMicrobatches) {
  for (Trainer::Config config : {prefix_lm(), with_streams()}) {
    auto& decoder = *config.model.get_if<CausalLM>()->decoder.get_if<Decoder>();
    const Child<Block> layer = decoder.layers.get_if<Repeat>()->layer;
    decoder.layers = Pipeline::Config{.num_layers = 2, .num_microbatches = 2, .layer = layer};
    config.learner.get_if<Learner>()->microbatches = 2;
    const Ended ended = train(config, "pipeline", /*resume=*/false);
    EXPECT_EQ(ended.code, ExitCode::kOk) << ended.error;
    remove_tree(run("pipeline"));
  }
}

TEST_F(PromptsTraining, SyntheticDataHaveThemToo) {
  for (Trainer::Config config : {prefix_lm(), with_streams()}) {
    const TextInput::Config text = *config.input.get_if<TextInput>();
    SyntheticInput::Config input{.seq_len = 16, .batch_size = 4};
    if (text.prompt) input.prompt = Prompt{.share = 0.25};
    input.position_streams = text.position_streams;
    config.input = input;
    config.evalers.clear();
    const Ended ended = train(config, "synthetic", /*resume=*/false);
    EXPECT_EQ(ended.code, ExitCode::kOk) << ended.error;
    remove_tree(run("synthetic"));
  }
}

}  // namespace
}  // namespace axle
