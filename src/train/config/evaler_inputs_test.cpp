// Evalers follow the input of the run in the fields that they leave open, and in no others.
#include <gmock/gmock.h>

#include <fstream>

#include "data/text_input.h"
#include "data/token_files/token_input.h"
#include "data/tokenizers/sentencepiece_tokenizer.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"
#include "train/config/trainer_config.h"
#include "train/tiny_config_test.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

Trainer::Config config_with_inputs(const TextInput::Config& input,
                                   const TextInput::Config& evaler) {
  Trainer::Config config = tiny_config();
  config.input = input;
  config.evalers = {{"held_out", {.input = evaler}}};
  return config;
}
const TextInput::Config& evaler_of(const Trainer::Config& config) {
  return *config.evalers.at("held_out").input.get_if<TextInput>();
}
std::string path_of(const TextInput::Config& input) {
  return input.source.get_if<TextSource>()->path;
}

const TextInput::Config kInput{
    .source = TextSource::Config{.path = "corpus", .unit = DocumentUnit::kLine},
    .tokenizer = SentencePieceTokenizer::Config{.path = "pieces.model"},
    .seq_len = 128,
    .batch_size = 64,
    .split = Split::kTrain,
    .held_out_fraction = 0.2};

TEST(EvalerInputs, TakeOverWhatTheyLeaveOpen) {
  Trainer::Config config = config_with_inputs(
      kInput, {.shuffle = Shuffle::kNone, .epochs = 1, .split = Split::kHeldOut});
  complete_evaler_inputs(config);
  const TextInput::Config& evaler = evaler_of(config);
  EXPECT_EQ(path_of(evaler), "corpus");
  EXPECT_EQ(evaler.source.get_if<TextSource>()->unit, DocumentUnit::kLine);
  EXPECT_NE(evaler.tokenizer.get_if<SentencePieceTokenizer>(), nullptr);
  EXPECT_EQ(evaler.seq_len, 128);
  EXPECT_EQ(evaler.batch_size, 64);
  EXPECT_EQ(evaler.held_out_fraction, 0.2);
  EXPECT_EQ(evaler.split, Split::kHeldOut);
  EXPECT_EQ(evaler.shuffle, Shuffle::kNone);
  EXPECT_EQ(evaler.epochs, 1);
  // Completing a second time changes nothing.
  const Trainer::Config once = config;
  complete_evaler_inputs(config);
  EXPECT_EQ(path_of(evaler_of(config)), path_of(evaler_of(once)));
}

TEST(EvalerInputs, KeepWhatTheySet) {
  Trainer::Config config =
      config_with_inputs(kInput, {.source = TextSource::Config{.path = "mine.txt"},
                                  .seq_len = 32,
                                  .batch_size = 8,
                                  .epochs = 1});
  complete_evaler_inputs(config);
  const TextInput::Config& evaler = evaler_of(config);
  EXPECT_EQ(path_of(evaler), "mine.txt");
  EXPECT_EQ(evaler.source.get_if<TextSource>()->unit, DocumentUnit::kFile);  // not taken over
  EXPECT_EQ(evaler.seq_len, 32);
  EXPECT_EQ(evaler.batch_size, 8);
  EXPECT_EQ(evaler.split, Split::kAll);
  EXPECT_EQ(evaler.held_out_fraction, TextInput::Config{}.held_out_fraction);
  EXPECT_NE(evaler.tokenizer.get_if<SentencePieceTokenizer>(), nullptr);
}

TEST(EvalerInputs, AnotherTokenizerIsRefused) {
  Trainer::Config config = config_with_inputs(
      kInput, {.tokenizer = SentencePieceTokenizer::Config{.path = "other.model"}, .epochs = 1});
  EXPECT_EQ(error_of([&] { complete_evaler_inputs(config); }),
            "evalers.held_out.input.tokenizer: expected the tokenizer of the run's input, got "
            "another one; leave the field out");
}

TEST(EvalerInputs, AnotherPartOfTheTextThanIsHeldOutIsRefused) {
  Trainer::Config config =
      config_with_inputs(kInput, {.epochs = 1, .split = Split::kHeldOut, .held_out_fraction = 0.3});
  EXPECT_THAT(error_of([&] { complete_evaler_inputs(config); }),
              HasSubstr("evalers.held_out.input.held_out_fraction: expected 0.2"));
}

// The evaler reads the text of the input: it names the path itself, or --data names it for both, in
// any spelling.
TEST(EvalerInputs, InputsOfTheSameTextFollowTheTrainingInput) {
  const TempDir dir;
  std::ofstream(dir / "corpus") << "text";
  TextInput::Config input = kInput;
  auto& source = *input.source.get_if<TextSource>();
  source.path = dir / "corpus";
  source.on_error = OnError::kSkip;
  for (const std::string& path : {dir / "corpus", dir.path().string() + "/./corpus"}) {
    Trainer::Config config = config_with_inputs(
        input, {.source = TextSource::Config{.path = path}, .epochs = 1, .split = Split::kHeldOut});
    complete_evaler_inputs(config);
    const TextInput::Config& evaler = evaler_of(config);
    EXPECT_EQ(path_of(evaler), path);
    EXPECT_EQ(evaler.held_out_fraction, 0.2);
    EXPECT_EQ(evaler.source.get_if<TextSource>()->unit, DocumentUnit::kLine);
    EXPECT_EQ(evaler.source.get_if<TextSource>()->on_error, OnError::kSkip);
  }
}

TEST(EvalerInputs, HeldOutTextThatTheRunTrainsOnIsRefused) {
  const TextInput::Config held_out{.epochs = 1, .split = Split::kHeldOut};
  TextInput::Config all = kInput;
  all.split = Split::kAll;
  Trainer::Config config = config_with_inputs(all, held_out);
  EXPECT_EQ(error_of([&] { complete_evaler_inputs(config); }),
            "input.split: expected 'train', got 'all', which also trains on the held-out text of "
            "evalers.held_out.input; use --set input.split=train");

  TextInput::Config other_unit = held_out;
  other_unit.source = TextSource::Config{.path = "corpus", .unit = DocumentUnit::kParagraph};
  config = config_with_inputs(kInput, other_unit);
  EXPECT_EQ(error_of([&] { complete_evaler_inputs(config); }),
            "evalers.held_out.input.source.unit: expected 'line', the value of the run's input for "
            "the same text, got 'paragraph'; leave the field out");

  TextInput::Config streamed = kInput;
  streamed.memory_bytes = 7;
  config = config_with_inputs(streamed, held_out);
  complete_evaler_inputs(config);
  EXPECT_EQ(evaler_of(config).memory_bytes, 7);
  TextInput::Config other_memory = held_out;
  other_memory.memory_bytes = 8;
  config = config_with_inputs(streamed, other_memory);
  EXPECT_EQ(error_of([&] { complete_evaler_inputs(config); }),
            "evalers.held_out.input.memory_bytes: expected 7, the value of the run's input for the "
            "same text, got 8; leave the field out");

  // Another text, or all of the text on purpose, is allowed.
  config = config_with_inputs(
      all,
      {.source = TextSource::Config{.path = "mine.txt"}, .epochs = 1, .split = Split::kHeldOut});
  complete_evaler_inputs(config);
  config = config_with_inputs(all, {.epochs = 1});
  complete_evaler_inputs(config);
}

TEST(EvalerInputs, NothingHeldOutIsRefused) {
  TextInput::Config input = kInput;
  input.held_out_fraction = 0;
  Trainer::Config config = config_with_inputs(input, {.epochs = 1, .split = Split::kHeldOut});
  EXPECT_EQ(error_of([&] { complete_evaler_inputs(config); }),
            "evalers.held_out.input.held_out_fraction: expected more than 0 for the split "
            "'held_out', got 0; set a larger fraction or remove the evaler (--set 'evalers={}')");
}

TEST(EvalerInputs, InputsOfOtherClassesTakeTheFieldsThatTheyHave) {
  Trainer::Config config = tiny_config();
  config.input = kInput;
  config.evalers = {{"held_out", {.input = SyntheticInput::Config{.num_batches = 2}}}};
  complete_evaler_inputs(config);
  const auto* const evaler = config.evalers.at("held_out").input.get_if<SyntheticInput>();
  EXPECT_EQ(evaler->seq_len, 128);
  EXPECT_EQ(evaler->batch_size, 64);
  EXPECT_EQ(evaler->num_batches, 2);
}

TEST(EvalerInputs, TokenFilesHoldOutTheSameDocuments) {
  Trainer::Config config = tiny_config();
  TokenInput::Config input{.seq_len = 16, .batch_size = 2, .held_out_fraction = 0.2};
  input.sources["web"] = {.path = "web.idx", .weight = 2, .epochs = 3};
  config.input = input;
  config.evalers = {
      {"held_out", {.input = TokenInput::Config{.epochs = 1, .split = Split::kHeldOut}}}};
  EXPECT_THAT(error_of([&] { complete_evaler_inputs(config); }),
              HasSubstr("use --set input.split=train"));
  config.input.get_if<TokenInput>()->split = Split::kTrain;
  complete_evaler_inputs(config);
  const auto& evaler = *config.evalers.at("held_out").input.get_if<TokenInput>();
  EXPECT_EQ(*evaler.sources.at("web").path, "web.idx");
  EXPECT_FALSE(evaler.sources.at("web").weight);
  EXPECT_EQ(evaler.held_out_fraction, 0.2);
  EXPECT_EQ(evaler.seq_len, 16);
}

}  // namespace
}  // namespace axle
