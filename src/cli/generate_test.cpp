// generate and import as the user calls them.
#include <gmock/gmock.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/run_test.h"
#include "data/byte_tokenizer.h"
#include "infer/model_folder.h"
#include "infer/tiny_model_test.h"
#include "io/file.h"
#include "testing/temp_dir.h"
#include "testing/tiny_llama.h"

namespace axle {
namespace {

using testing::HasSubstr;

class GenerateVerb : public testing::Test {
 protected:
  // A model that goes on with "bé" after 'a' and then ends.
  void SetUp() override {
    const TinyModel tiny =
        chain_model({{'a', 'b'}, {'b', 0xc3}, {0xc3, 0xa9}, {0xa9, ByteTokenizer::kBoundary}}, 260);
    Tree<HostTensor> parameters;
    for (const auto& [path, value] : tiny.parameters)
      parameters.emplace(path.substr(sizeof("model/") - 1), value);
    save_model(dir_ / "model", {.model = tiny.config,
                                .tokenizer = ByteTokenizer::Config{},
                                .parameters = parameters,
                                .context_len = 20});
  }
  Ran run(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"generate", "--backend", "interpreter"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_axle(arguments);
  }
  void expect_mistake(std::vector<std::string> more, const std::string& message) {
    more.insert(more.begin(), {"--from", dir_ / "model"});
    const Ran ran = run(more);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr(message));
  }
  TempDir dir_;
};

TEST_F(GenerateVerb, PrintsPromptAndText) {
  const Ran ran = run({"--from", dir_ / "model", "--prompt", "xa"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "xabé\n");
  EXPECT_THAT(ran.err, HasSubstr("3 tokens (end_token), "));
  EXPECT_THAT(ran.err, HasSubstr(" tokens/s"));
}

TEST_F(GenerateVerb, PromptFromStdin) {
  std::istringstream input("za\n");
  std::streambuf* const saved = std::cin.rdbuf(input.rdbuf());
  const Ran ran = run({"--from", dir_ / "model", "--prompt", "-", "--max-tokens", "1"});
  std::cin.rdbuf(saved);
  EXPECT_EQ(ran.out, "zab\n") << ran.err;
}

TEST_F(GenerateVerb, Json) {
  const Ran ran = run({"--from", dir_ / "model", "--prompt", "a", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["text"], "bé");
  EXPECT_EQ(json["tokens"], (std::vector<int>{'b', 0xc3, 0xa9}));
  EXPECT_EQ(json["stop"], "end_token");
  EXPECT_EQ(json["prompt_tokens"], 2);
}

TEST_F(GenerateVerb, Mistakes) {
  expect_mistake({"--prompt", "a", "--top-k", "-1"}, "top_k: must be at least 1, got -1");
  expect_mistake({"--prompt", "a", "--top-p", "2"}, "top_p: must be above 0 and at most 1, got 2");
  expect_mistake({"--prompt", "a", "--temperature", "-0.5"},
                 "temperature: must be 0 or a positive number, got -0.5");
  expect_mistake({"--prompt", "a", "--max-tokens", "0"}, "max_tokens: must be at least 1, got 0");
  expect_mistake({"--prompt", "aaaaaaaaaaaaaaaaaaaaaaaaa"},
                 "expected fewer tokens than the model's context of 20, got 26");
  expect_mistake({"--prompt", "a", "--ema"}, "expected averaged parameters");
  expect_mistake({"--prompt", "a", "--temprature", "1"}, "did you mean '--temperature'");
  expect_mistake({}, "--prompt");
  EXPECT_EQ(run({"--from", dir_ / "nothing", "--prompt", "a"}).code, 2);
}

TEST_F(GenerateVerb, ADamagedCheckpointIsStorage) {
  truncate_file(std::filesystem::path(dir_ / "model") / "checkpoints/step_00000000/data_00000.bin",
                10);
  EXPECT_EQ(run({"--from", dir_ / "model", "--prompt", "a"}).code, 4);
}

TEST_F(GenerateVerb, ImportNamesBadFilesAndKeepsFolders) {
  replace_file(dir_ / "short.bin", "abc");
  const Ran bad = run_axle({"import", "llama2c", dir_ / "short.bin", "--tokenizer",
                            dir_ / "short.bin", "--dir", dir_ / "new"});
  EXPECT_EQ(bad.code, 3);
  EXPECT_THAT(bad.err, HasSubstr("short.bin: offset 3: expected a llama2.c header"));
  EXPECT_FALSE(path_exists(dir_ / "new"));
  EXPECT_EQ(
      run_axle({"import", "llama2c", dir_ / "none.bin", "--tokenizer", "t", "--dir", dir_ / "new"})
          .code,
      3);
  EXPECT_EQ(run_axle({"import", "llama2c", dir_ / "short.bin", "--dir", dir_ / "new"}).code, 2);

  const TinyLlama llama;
  const std::string model = trained_bpe(), weights = dir_ / "llama.bin",
                    tokenizer = dir_ / "tok.bin";
  replace_file(weights, llama.file());
  replace_file(tokenizer, llama2c_vocabulary(model));
  EXPECT_EQ(
      run_axle({"import", "llama2c", weights, "--tokenizer", tokenizer, "--dir", dir_ / "model"})
          .code,
      2);
  const Ran good =
      run_axle({"import", "llama2c", weights, "--tokenizer", tokenizer, "--dir", dir_ / "new"});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("parameters, vocabulary of 512, texts of up to 64 tokens"));
  const auto vocabulary = load_model(dir_ / "new").tokenizer;
  std::vector<int32_t> tokens = vocabulary->encode("bakeri");
  tokens.insert(tokens.begin(), *vocabulary->special_ids().bos);
  const std::vector<int32_t> next = llama.greedy(tokens, 8);
  EXPECT_EQ(run({"--from", dir_ / "new", "--prompt", "bakeri", "--max-tokens", "8"}).out,
            "bakeri" + vocabulary->decode(next) + "\n");
}

}  // namespace
}  // namespace axle
