// Which inputs `--data` points at the text, and which it leaves unchanged.
#include "recipes/resolve/use_data.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>

#include "data/chat/build_chat_file.h"
#include "data/chat/chat_input.h"
#include "data/synthetic_input.h"
#include "data/text_input.h"
#include "data/token_files/corpus_reader.h"
#include "data/token_files/token_input.h"
#include "io/file.h"
#include "modifiers/preference_tuning.h"
#include "recipes/recipe.h"
#include "recipes/resolve/check_recipe.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"
#include "train/config/trainer_config.h"

namespace axle {
namespace {

std::string path_of(const Child<Input>& input) {
  const auto& source = input.get_if<TextInput>()->source;
  return source.get_if<TextSource>()->path;
}

Trainer::Config with_validation(const std::string& path) {
  Trainer::Config config = recipe("fuji-test-v1");
  config.evalers["validation"] = {
      .input = TextInput::Config{.source = TextSource::Config{.path = path}, .epochs = 1}};
  return config;
}

TEST(UseData, PointsTheInputAndEvalersWithoutAPathAtIt) {
  Trainer::Config config = with_validation("mine.txt");
  UseData{"corpus/"}.apply_to(config);
  EXPECT_EQ(path_of(config.input), "corpus/");
  EXPECT_EQ(path_of(config.evalers.at("held_out").input), "corpus/");
  EXPECT_EQ(path_of(config.evalers.at("validation").input), "mine.txt");
}

TEST(UseData, LastDataPathWinsForAllReadersOfTheText) {
  Trainer::Config config = with_validation("mine.txt");
  UseData{"first/"}.apply_to(config);
  UseData{"second/"}.apply_to(config);
  EXPECT_EQ(path_of(config.input), "second/");
  EXPECT_EQ(path_of(config.evalers.at("held_out").input), "second/");
  EXPECT_EQ(path_of(config.evalers.at("validation").input), "mine.txt");
}

TEST(UseData, PointsInputsOfConversationsAtIt) {
  Trainer::Config config = recipe("fuji-test-v1");
  config.input = ChatInput::Config{};
  UseData{"chat.jsonl", {"more.jsonl"}}.apply_to(config);
  const auto* const source = config.input.get_if<ChatInput>()->source.get_if<ChatSource>();
  EXPECT_EQ(*source->path, "chat.jsonl");
  EXPECT_EQ(source->more_paths, std::vector<std::string>{"more.jsonl"});
}

TEST(UseData, ConversationsAndTextsEachGetTheirInput) {
  const TempDir dir;
  replace_file(dir / "chat.jsonl", R"({"instruction": "add", "output": "2"})");
  replace_file(dir / "text.txt", "text");
  Trainer::Config config = with_validation("mine.txt");
  UseData{dir / "chat.jsonl"}.apply_to(config);
  const auto* const chat = config.input.get_if<ChatInput>();
  ASSERT_NE(chat, nullptr);
  EXPECT_EQ(*chat->source.get_if<ChatSource>()->path, dir / "chat.jsonl");
  const auto* const before = recipe("fuji-test-v1").input.get_if<TextInput>();
  EXPECT_EQ(chat->packing, Packing::kWhole);
  EXPECT_EQ(*chat->seq_len, *before->seq_len);
  EXPECT_EQ(chat->split, before->split);
  const auto* const held_out = config.evalers.at("held_out").input.get_if<ChatInput>();
  ASSERT_NE(held_out, nullptr);
  EXPECT_EQ(held_out->split, Split::kHeldOut);
  EXPECT_EQ(path_of(config.evalers.at("validation").input), "mine.txt");
  UseData{dir / "text.txt"}.apply_to(config);
  EXPECT_EQ(path_of(config.input), dir / "text.txt");
  EXPECT_EQ(config.input.get_if<TextInput>()->packing, Packing::kCut);
  EXPECT_EQ(path_of(config.evalers.at("held_out").input), dir / "text.txt");
}

TEST(UseData, NamedFieldMakesRecordsTexts) {
  const TempDir dir;
  replace_file(dir / "qa.jsonl", R"({"question": "q", "answer": "a", "passage": "p"})");
  Trainer::Config config = recipe("fuji-test-v1");
  UseData{dir / "qa.jsonl"}.apply_to(config);
  EXPECT_NE(config.input.get_if<ChatInput>(), nullptr);
  config = recipe("fuji-test-v1");
  config.input.get_if<TextInput>()->source = CorpusSource::Config{.field = "passage"};
  UseData{dir / "qa.jsonl"}.apply_to(config);
  const auto* const text = config.input.get_if<TextInput>();
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(*text->source.get_if<CorpusSource>()->path, dir / "qa.jsonl");
}

TEST(UseData, KindsMixOnlyWithWeights) {
  const TempDir dir;
  const auto file = [&](const char* name, const char* text) {
    replace_file(dir / name, text);
    return std::string(dir / name);
  };
  const std::string
      text = file("a.txt", "one\ntwo\n"),
      pairs = file("p.jsonl", R"({"prompt": "a", "chosen": "b", "rejected": "c"})"),
      chat = file(
          "c.jsonl",
          R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})");
  const auto error = [](const std::string& data, const std::string& more) {
    Trainer::Config config = recipe("fuji-test-v1");
    return error_of<ConfigError>([&] { UseData{.data = data, .more = {more}}.apply_to(config); });
  };
  EXPECT_EQ(error(text, chat),
            fmt::format("--data {1}: expected texts, as in {0}, got conversations; mix them by "
                        "weights: --data {0}=0.5 --data {1}=0.5",
                        text, chat));
  EXPECT_EQ(error(chat, pairs), fmt::format("--data {1}: expected conversations, as in {0}, got "
                                            "pairs of answers; learn from pairs of answers alone",
                                            chat, pairs));
}

TEST(UseData, PairsOfAnswersNeedAModelThatComparesThem) {
  const TempDir dir;
  replace_file(dir / "pairs.jsonl", R"({"prompt": "q", "chosen": "y", "rejected": "n"})");
  replace_file(dir / "text.txt", "text");
  Trainer::Config config = recipe("fuji-test-v1");
  config.input.get_if<TextInput>()->tokenizer = ByteTokenizer::Config{};
  config.max_steps = 1;
  config.evalers.clear();
  UseData{dir / "pairs.jsonl"}.apply_to(config);
  ASSERT_NE(config.input.get_if<PreferenceInput>(), nullptr);
  EXPECT_THAT(error_of([&] { check_recipe(config); }),
              ::testing::HasSubstr("expected a PreferenceLM for pairs of answers"));
  apply_modifier(PreferenceTuning::Config{}, "modify", config);
  check_recipe(config);
  Trainer::Config synthetic = config;
  UseData{kSyntheticData}.apply_to(synthetic);
  EXPECT_TRUE(synthetic.input.get_if<SyntheticInput>()->pairs);
  check_recipe(synthetic);
  synthetic.input.get_if<SyntheticInput>()->pairs = false;
  EXPECT_THAT(error_of([&] { check_recipe(synthetic); }),
              ::testing::HasSubstr("input.pairs: expected true for a PreferenceLM"));
  UseData{dir / "text.txt"}.apply_to(config);
  EXPECT_THAT(error_of([&] { check_recipe(config); }),
              ::testing::HasSubstr("expected pairs of answers (PreferenceInput)"));
}

// What is no data of any kind is reported as for texts.
TEST(UseData, UnreadableDataAreReportedBeforeMissingPairs) {
  const TempDir dir;
  const auto error = [&](const std::string& data, auto... more) {
    Trainer::Config config = recipe("fuji-test-v1");
    config.input.get_if<TextInput>()->tokenizer = ByteTokenizer::Config{};
    config.max_steps = 1;
    config.evalers.clear();
    apply_modifier(PreferenceTuning::Config{}, "modify", config);
    UseData{dir / data, {(dir / more)...}}.apply_to(config);
    return error_of<DataError>([&] { check_recipe(config); });
  };
  const auto gets = [&](const std::string& name, const std::string& problem) {
    return (dir / name) + problem;
  };
  EXPECT_EQ(error("none.jsonl"),
            gets("none.jsonl",
                 ": expected a text file or a folder of them, got nothing there; "
                 "set input.source.path or --data"));
  EXPECT_THAT(error("none/"), ::testing::HasSubstr("none/: expected a text file or a folder"));
  const std::string page = "<!DOCTYPE html>\n<html></html>";
  replace_file(dir / "page.jsonl", page);
  EXPECT_EQ(error("page.jsonl"), gets("page.jsonl",
                                      ":1: expected JSON, got an HTML page; a "
                                      "download may have failed; fetch the file "
                                      "again"));
  replace_file(dir / "page.jsonl.gz", page);
  EXPECT_THAT(error("page.jsonl.gz"), ::testing::HasSubstr("expected gzip, got an HTML page"));
  replace_file(dir / "empty.jsonl", "");
  EXPECT_EQ(error("empty.jsonl"), gets("empty.jsonl", ": expected texts, got no document"));
  // One of several, and of those that are mixed.
  replace_file(dir / "talk.jsonl", R"({"prompt": "q", "completion": "y"})");
  EXPECT_THAT(error("talk.jsonl", "none.jsonl"), ::testing::HasSubstr("got nothing there"));
  EXPECT_THAT(error("talk.jsonl=0.5", "page.jsonl=0.5"), ::testing::HasSubstr("got an HTML page"));
}

TEST(UseData, APathMayBeSpelledInSeveralWays) {
  const TempDir dir;
  const std::string corpus = dir / "corpus";
  std::filesystem::create_directory(corpus);
  Trainer::Config config = with_validation(dir.path() / "." / "corpus");
  UseData{corpus}.apply_to(config);
  UseData{"second/"}.apply_to(config);
  EXPECT_EQ(path_of(config.evalers.at("validation").input), "second/");
}

TEST(UseData, SyntheticKeepsSeparateTexts) {
  Trainer::Config config = with_validation("mine.txt");
  UseData{kSyntheticData}.apply_to(config);
  EXPECT_NE(config.input.get_if<SyntheticInput>(), nullptr);
  const auto* const held_out = config.evalers.at("held_out").input.get_if<SyntheticInput>();
  ASSERT_NE(held_out, nullptr);
  EXPECT_EQ(held_out->num_batches, kSyntheticEvalBatches);
  EXPECT_EQ(path_of(config.evalers.at("validation").input), "mine.txt");
}

// PREFIX of a token file of one document.
std::string token_file(const TempDir& dir, const std::string& name) {
  TokenFileWriter writer(dir / name, DType::kU16);
  writer.add(std::vector<int32_t>{1, 2, 3});
  writer.finish();
  return dir / name;
}

TEST(UseData, TokenFilesMakeInputsOfTokens) {
  const TempDir dir;
  const std::string web = token_file(dir, "web.v2"), code = token_file(dir, "code");
  Trainer::Config config = with_validation("mine.txt");
  const int64_t seq_len = config.input.get_if<TextInput>()->seq_len;
  UseData{web + ".idx=0.75", {code + "=0.25"}}.apply_to(config);
  const auto* const input = config.input.get_if<TokenInput>();
  ASSERT_NE(input, nullptr);
  EXPECT_EQ(input->seq_len, seq_len);
  EXPECT_EQ(input->split, Split::kTrain);
  ASSERT_EQ(input->sources.size(), 2u);
  EXPECT_EQ(*input->sources.at("web_v2").path, web + ".idx");
  EXPECT_EQ(double{*input->sources.at("web_v2").weight}, 0.75);
  EXPECT_EQ(double{*input->sources.at("code").weight}, 0.25);
  EXPECT_EQ(path_of(config.evalers.at("validation").input), "mine.txt");
  complete_evaler_inputs(config);
  const auto* const held_out = config.evalers.at("held_out").input.get_if<TokenInput>();
  ASSERT_NE(held_out, nullptr);
  EXPECT_EQ(held_out->split, Split::kHeldOut);
  EXPECT_EQ(held_out->shuffle, Shuffle::kNone);
  EXPECT_EQ(int64_t{*held_out->epochs}, 1);
  EXPECT_EQ(*held_out->sources.at("code").path, code);
  EXPECT_FALSE(held_out->sources.at("code").weight);

  // And back again.
  UseData{"corpus/"}.apply_to(config);
  EXPECT_EQ(path_of(config.input), "corpus/");
  EXPECT_EQ(path_of(config.evalers.at("held_out").input), "corpus/");
  EXPECT_EQ(config.input.get_if<TextInput>()->seq_len, seq_len);
}

TEST(UseData, MistakesWithTokenFilesAreNamed) {
  const TempDir dir;
  const std::string web = token_file(dir, "web");
  std::ofstream(dir / "a.txt") << "text";
  const auto error = [&](const UseData& use) {
    Trainer::Config config = recipe("quickstart");
    return error_of([&] { use.apply_to(config); });
  };
  EXPECT_EQ(error_of<DataError>([&] {
              Trainer::Config config = recipe("quickstart");
              UseData{dir / "none.txt=0.5"}.apply_to(config);
            }),
            "--data " + (dir / "none.txt=0.5") +
                ": expected a token file, texts or conversations, got nothing there");
  EXPECT_THAT(error({dir / "a.txt=0.5", {(dir.path() / "." / "a.txt=0.5").string()}}),
              ::testing::HasSubstr("a.txt: expected each file once, got "));
  EXPECT_THAT(error({web + "=0"}), ::testing::HasSubstr("expected a weight above 0, got 0"));
  for (const char* suffix : {".idx", ".bin"})
    std::filesystem::create_symlink(web + suffix, (dir / "link") + suffix);
  for (const std::string& again : {web, web + ".idx", web + ".bin", web + ".idx=0.5", dir / "link",
                                   (dir.path() / "." / "web.idx").string()}) {
    const std::string path = again.substr(0, again.find('='));
    EXPECT_EQ(error({web + ".idx", {again}}),
              "--data " + path + ": expected each file once, got " + web +
                  ".idx before; PATH=WEIGHT says how much of a file is read");
  }
  Trainer::Config config = recipe("quickstart");
  config.input = SyntheticInput::Config{};
  EXPECT_THAT(error_of([&] { UseData{web}.apply_to(config); }),
              ::testing::HasSubstr("input: expected an input that reads text without prompts"));
}

// The token file of conversations, or of pairs.
std::string chat_file(const TempDir& dir, const std::string& name, ChatUnit unit) {
  replace_file(dir / (name + ".jsonl"), unit == ChatUnit::kPair
                                            ? R"({"prompt": "q", "chosen": "y", "rejected": "n"})"
                                            : R"({"instruction": "add", "output": "2"})");
  const ChatBuild build{.work = {.sources = {dir / (name + ".jsonl")},
                                 .tokenizer = ByteTokenizer::Config{},
                                 .prefix = dir / name},
                        .unit = unit};
  build_chat_file(ChatMaker(build, build.work.tokenizer.build({}, {.path = "tokenizer"})));
  return dir / name;
}

TEST(UseData, TokenFilesOfConversationsAndPairsArePackedAsSuch) {
  const TempDir dir;
  const std::string talks = chat_file(dir, "talks", ChatUnit::kConversation),
                    pairs = chat_file(dir, "pairs", ChatUnit::kPair), web = token_file(dir, "web");
  Trainer::Config config = recipe("quickstart");
  config.max_steps = 1;
  config.evalers.clear();
  config.input = ChatInput::Config{.seq_len = 7, .batch_size = 3};
  UseData{web + "=0.5", {talks + "=0.5"}}.apply_to(config);
  const auto* input = config.input.get_if<TokenInput>();
  ASSERT_NE(input, nullptr);
  EXPECT_EQ(*input->seq_len, 7);
  EXPECT_EQ(input->sources.at("talks").packing, Packing::kWhole);
  EXPECT_EQ(input->sources.at("talks").long_documents, LongDocuments::kTruncate);
  EXPECT_FALSE(input->sources.at("web").packing);
  check_recipe(config);
  UseData{pairs}.apply_to(config);
  EXPECT_EQ(config.input.get_if<TokenInput>()->sources.at("pairs").packing, Packing::kPairs);
  EXPECT_THAT(error_of([&] { check_recipe(config); }),
              ::testing::HasSubstr("expected a PreferenceLM for pairs of answers"));
  apply_modifier(PreferenceTuning::Config{}, "modify", config);
  check_recipe(config);
  UseData{pairs, {talks}}.apply_to(config);
  EXPECT_THAT(error_of([&] { check_recipe(config); }),
              ::testing::HasSubstr("expected pairs of answers in all sources or in none, got 1"));
}

// With weights, or beside a token file, files of every kind are sources of one mixture.
TEST(UseData, FilesOfEveryKindMix) {
  const TempDir dir;
  chat_file(dir, "talks", ChatUnit::kConversation);
  chat_file(dir, "pairs", ChatUnit::kPair);
  token_file(dir, "web");
  std::filesystem::create_directory(dir / "many");
  replace_file(dir / "many/a.txt", "text");
  replace_file(dir / "notes.v2.jsonl", R"({"text": "a"})");
  Trainer::Config config = recipe("quickstart");
  config.max_steps = 1;
  config.evalers.erase("validation");
  UseData{(dir / "notes.v2.jsonl") + "=0.5",
          {(dir / "talks.jsonl") + "=0.2", (dir / "many/") + "=0.1", (dir / "*/a.txt") + "=0.1",
           (dir / "web") + "=0.1"}}
      .apply_to(config);
  const auto* const input = config.input.get_if<TokenInput>();
  ASSERT_NE(input, nullptr);
  std::string names;
  for (const auto& [name, source] : input->sources) {
    names += name + " ";
    EXPECT_EQ(source.packing.has_value(), name == "talks");
    EXPECT_EQ(source.long_documents.has_value(), name == "talks");
  }
  EXPECT_EQ(names, "a many notes_v2 talks web ");
  EXPECT_EQ(*input->sources.at("a").path, dir / "*/a.txt");
  EXPECT_EQ(double{*input->sources.at("talks").weight}, 0.2);
  EXPECT_EQ(input->sources.at("talks").packing, Packing::kWhole);
  complete_evaler_inputs(config);
  check_recipe(config);
  EXPECT_EQ(config.evalers.at("held_out").input.get_if<TokenInput>()->sources.size(), 5u);
  UseData{dir / "web.idx", {dir / "talks.jsonl"}}.apply_to(config);
  EXPECT_EQ(config.input.get_if<TokenInput>()->sources.size(), 2u);
  UseData{(dir / "pairs.jsonl") + "=1"}.apply_to(config);
  EXPECT_EQ(config.input.get_if<TokenInput>()->sources.at("pairs").packing, Packing::kPairs);
  UseData{dir / "notes.v2.jsonl"}.apply_to(config);
  EXPECT_NE(config.input.get_if<TextInput>(), nullptr) << "one kind without weights, as ever";
}

TEST(UseData, NeedsAnInputOfText) {
  Trainer::Config config = recipe("fuji-test-v1");
  UseData{kSyntheticData}.apply_to(config);
  EXPECT_EQ(error_of([&] { UseData{"text.txt"}.apply_to(config); }),
            "--data text.txt: expected an input that reads text, got SyntheticInput; put --set "
            "input=TextInput before --data");
}

}  // namespace
}  // namespace axle
