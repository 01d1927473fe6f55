// Tests `generate` and `import` through the command line.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/run_test.h"
#include "infer/tiny_llama_test.h"
#include "interop/model_folder.h"
#include "interop/tiny_model_test.h"
#include "io/file.h"
#include "testing/temp_dir.h"
#include "testing/tiny_llama.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class GenerateVerb : public ::testing::Test {
 protected:
  void SetUp() override { save_short_talker(dir_ / "model"); }
  Ran run(const Arguments& more) {
    return run_axle(joined({"generate", "--backend", "interpreter"}, more));
  }
  void expect_mistake(const Arguments& more, const std::string& message) {
    const Ran ran = run(joined({"--from", dir_ / "model"}, more));
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

TEST_F(GenerateVerb, ChatAnswersEachLineOfStdin) {
  save_byte_model(dir_ / "talker",
                  chain_model({{':', 'o'}, {'o', 'k'}, {'k', ';'}, {';', 'x'}}, 260));
  replace_file(dir_ / "chat.jinja",
               "{% for m in messages %}{{ m.role[0] }}:{{ m.content }};{% endfor %}"
               "{% if add_generation_prompt %}a:{% endif %}");
  const auto chat = [&](const Arguments& more) {
    return run(joined({"--from", dir_ / "talker", "--chat"}, more));
  };
  const Arguments with_template = {"--chat-template", dir_ / "chat.jinja"};
  std::istringstream input("hi\n\nso\n");
  std::streambuf* const saved = std::cin.rdbuf(input.rdbuf());
  const Ran ran = chat(with_template);
  std::cin.rdbuf(saved);
  EXPECT_EQ(ran.out, "ok\nok\n") << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("(end_text)"));
  const Ran json = chat(joined(with_template, {"--prompt", "hi", "--system", "be", "--json"}));
  EXPECT_EQ(nlohmann::json::parse(json.out)["prompt"], "s:be;u:hi;a:") << json.err;
  const Ran without = chat({"--prompt", "hi"});
  EXPECT_EQ(without.code, 2);
  EXPECT_THAT(without.err, HasSubstr("expected a model with a chat template, got one without"));
}

TEST_F(GenerateVerb, PromptFromStdin) {
  std::istringstream input("za\n");
  std::streambuf* const saved = std::cin.rdbuf(input.rdbuf());
  const Ran ran = run({"--from", dir_ / "model", "--prompt", "-", "--max-tokens", "1"});
  std::cin.rdbuf(saved);
  EXPECT_EQ(ran.out, "zab\n") << ran.err;
}

TEST_F(GenerateVerb, UnreadableStdinIsAnErrorAndNotAnEmptyPrompt) {
  const int saved = ::dup(STDIN_FILENO), folder = ::open(dir_.path().c_str(), O_RDONLY | O_CLOEXEC);
  ::dup2(folder, STDIN_FILENO);
  const Ran ran = run({"--from", dir_ / "model", "--prompt", "-"});
  ::dup2(saved, STDIN_FILENO);
  for (const int fd : {saved, folder}) ::close(fd);
  std::clearerr(stdin);
  std::cin.clear();
  EXPECT_EQ(ran.code, 4);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "axle: stdin: cannot read the prompt: Is a directory\n");
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
  expect_mistake({"--prompt", "a", "--top-k", "-1"}, "--top-k: expected at least 1, got -1");
  expect_mistake({"--prompt", "a", "--top-p", "2"},
                 "--top-p: expected more than 0 and at most 1, got 2");
  expect_mistake({"--prompt", "a", "--temperature", "-0.5"},
                 "--temperature: expected 0 or a positive number, got -0.5");
  expect_mistake({"--prompt", "a", "--max-tokens", "0"},
                 "--max-tokens: expected at least 1, got 0");
  expect_mistake({"--prompt", "aaaaaaaaaaaaaaaaaaaaaaaaa"},
                 "expected fewer tokens than the model's context of 20, got 26");
  expect_mistake({"--prompt", "a", "--ema"}, "expected averaged parameters");
  expect_mistake({"--prompt", "a", "--temprature", "1"}, "did you mean '--temperature'");
  expect_mistake({}, "--prompt");
  EXPECT_EQ(run({"--from", dir_ / "nothing", "--prompt", "a"}).code, 2);
}

// After 'x', all tokens are equally likely, so greedy decoding takes the first, "\0".
TEST_F(GenerateVerb, SamplingOptionsEnableSampling) {
  const auto tokens = [&](const Arguments& more) {
    const Ran ran = run(
        joined({"--from", dir_ / "model", "--prompt", "x", "--max-tokens", "8", "--json"}, more));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return nlohmann::json::parse(ran.out)["tokens"].get<std::vector<int>>();
  };
  const std::vector<int> greedy(8, 0);
  EXPECT_EQ(tokens({}), greedy);
  EXPECT_EQ(tokens({"--temperature", "0"}), greedy);
  const std::vector<std::vector<std::string>> drawing = {
      {"--top-k", "40"}, {"--top-p", "0.9"}, {"--seed", "2"}};
  for (std::vector<std::string> more : drawing) {
    const std::vector<int> drawn = tokens(more);
    EXPECT_NE(drawn, greedy) << more[0];
    more.insert(more.end(), {"--temperature", "1"});
    EXPECT_EQ(tokens(more), drawn) << more[0];
    more.back() = "0";
    more.insert(more.end(), {"--prompt", "x"});
    expect_mistake(more, "--temperature: expected more than 0 with");
  }
  EXPECT_NE(tokens({"--seed", "1"}), tokens({"--seed", "2"}));
  for (const int token : tokens({"--top-k", "3", "--seed", "5"})) EXPECT_LT(token, 3);
}

TEST_F(GenerateVerb, DevicesMustMatchTheMesh) {
  for (const char* mesh : {"model=2", "model=2,fsdp=2", "model=-1"}) {
    const Ran ran = run({"--from", dir_ / "model", "--prompt", "xa", "--mesh", mesh});
    EXPECT_EQ(ran.out, "xabé\n") << ran.err;
  }
  expect_mistake({"--prompt", "a", "--devices", "2"},
                 "mesh: expected sizes that multiply to the 2 devices, got no axes");
  expect_mistake({"--prompt", "a", "--mesh", "model=2", "--devices", "3"},
                 "mesh: expected sizes that multiply to the 3 devices, got model=2");
  expect_mistake({"--prompt", "a", "--mesh", "data=2"}, "mesh.data: expected an axis that ");
  expect_mistake({"--prompt", "a", "--mesh", "modle=2"}, "mesh.modle: ");
  expect_mistake({"--prompt", "a", "--mesh", "fsdp=7"}, "model/decoder/");
}

// An import has no learner and no batch size.
TEST_F(GenerateVerb, AnImportIsEvaluated) {
  replace_file(dir_ / "text.txt", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
  const Ran ran = run_axle({"eval", "--from", dir_ / "model", "--data", dir_ / "text.txt",
                            "--backend", "interpreter", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["num_bytes"], 40);
  // After 'x' and at the beginning, all 260 tokens are equally likely.
  EXPECT_NEAR(json["metrics"]["loss"], std::log(260), 1e-4);
}

// Trains from outside of the import's folder, and generates from yet another folder.
TEST_F(GenerateVerb, AnImportIsTrainedOnWithItsTokenizer) {
  const TempDir dir;
  const std::filesystem::path model = import_tiny_llama(dir, TinyLlama());
  std::filesystem::remove(dir / "tok.bin");
  std::string text;
  for (int i = 0; i < 200; ++i) text += "bakeri tilomu ";
  replace_file(dir / "text.txt", text);
  const Ran trained = run_axle({"train", "--config", model / "config.yaml", "--init-from", model,
                                "--data", dir / "text.txt", "--steps", "1", "--dir", dir / "tuned",
                                "--backend", "interpreter", "--set", "input.batch_size=2", "--set",
                                "learner.optimizer.learning_rate=1e-4"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path("/");
  const Ran ran = run({"--from", dir / "tuned", "--prompt", "bakeri", "--max-tokens", "2"});
  std::filesystem::current_path(before);
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST_F(GenerateVerb, ImportsCannotBeResumedAsRuns) {
  const TempDir dir;
  const std::filesystem::path model = import_tiny_llama(dir, TinyLlama());
  replace_file(dir / "text.txt", std::string(5000, 'a'));
  const std::string config = read_file(model / "config.yaml");
  for (const char* force : {"", "--force"}) {
    std::vector<std::string> arguments = {"train",
                                          "--config",
                                          model / "config.yaml",
                                          "--data",
                                          dir / "text.txt",
                                          "--steps",
                                          "1",
                                          "--dir",
                                          model,
                                          "--backend",
                                          "interpreter",
                                          "--set",
                                          "input.batch_size=2",
                                          "--set",
                                          "learner.optimizer.learning_rate=1e-4"};
    if (*force) arguments.push_back(force);
    const Ran ran = run_axle(arguments);
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr("expected the checkpoint of a run, got that of an import; use "
                                   "another --dir"));
    EXPECT_THAT(ran.err, Not(HasSubstr("damaged")));
  }
  EXPECT_EQ(read_file(model / "config.yaml"), config);
}

// Returns the command that trains on text.txt with tok.bin, both in the current folder.
Arguments train_with_vocabulary(const std::string& dir) {
  return joined({"train", "quickstart", "--data", "text.txt", "--steps", "1", "--dir", dir,
                 "--backend", "interpreter", "--set", "model.decoder.vocab_size=512", "--set",
                 "input.tokenizer={class: Llama2cTokenizer, path: tok.bin}"},
                tiny_quickstart());
}

// The path of a tokenizer's file may be relative to the current folder.
TEST_F(GenerateVerb, ARunIsFoundFromOtherFolders) {
  const TempDir dir;
  import_tiny_llama(dir, TinyLlama());
  replace_file(dir / "text.txt", std::string(5000, 'a'));
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  const Ran trained = run_axle(train_with_vocabulary("run"));
  std::filesystem::current_path("/");
  const std::vector<std::string> generate = {"--from", dir / "run",    "--prompt",
                                             "a",      "--max-tokens", "2"};
  const Ran ran = run(generate);
  std::filesystem::rename(dir / "tok.bin", dir / "elsewhere.bin");
  const Ran kept = run(generate);
  std::filesystem::remove(dir / "run/tok.bin");
  const Ran lost = run(generate);
  std::filesystem::rename(dir / "elsewhere.bin", dir / "run/tok.bin");
  const Ran copied = run(generate);
  std::filesystem::current_path(before);
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(kept.code, 0) << "the run has a copy: " << kept.err;
  EXPECT_EQ(lost.code, 3);
  EXPECT_THAT(lost.err, HasSubstr("tok.bin: expected a file, got nothing there; copy it to " +
                                  (dir / "run/tok.bin") + "\n"));
  EXPECT_EQ(copied.code, 0) << copied.err;
}

// The current folder has another tokenizer of that name.
TEST_F(GenerateVerb, ImportsDoNotReadTokenizersFromTheCurrentFolder) {
  const TempDir dir;
  const std::filesystem::path model = import_tiny_llama(dir, TinyLlama());
  const auto before = std::filesystem::current_path();
  std::filesystem::rename(model / "tok.bin", dir / "tok.bin");
  replace_file(dir / "text.txt", std::string(2000, 'x'));
  std::filesystem::current_path(dir.path());
  const std::string folder = model.filename();
  const Ran generated = run({"--from", folder, "--prompt", "a", "--max-tokens", "1"});
  const Ran evaluated = run_axle({"eval", "--from", folder, "--data", "text.txt"});
  const Ran trained =
      run_axle({"train", "--config", folder + "/config.yaml", "--data", "text.txt", "--steps", "1",
                "--dir", "run", "--backend", "interpreter", "--set", "input.batch_size=1", "--set",
                "learner.optimizer.learning_rate=1"});
  std::filesystem::current_path(before);
  for (const Ran* ran : {&generated, &evaluated, &trained}) {
    EXPECT_NE(ran->code, 0);
    EXPECT_THAT(ran->err, HasSubstr(folder + "/tok.bin: expected a file, got nothing there"));
  }
}

// A config is UTF-8 text. It names such a file with its bytes escaped.
TEST_F(GenerateVerb, PathsMayBeOtherThanUtf8) {
  const TinyLlama llama;
  const std::filesystem::path folder = dir_.path() / "caf\xe9",
                              before = std::filesystem::current_path();
  make_directories(folder);
  replace_file(folder / "llama.bin", llama.file());
  replace_file(folder / "tok.bin", llama2c_vocabulary(trained_bpe()));
  replace_file(folder / "text.txt", std::string(2000, 'x'));
  std::filesystem::current_path(folder);
  // A folder whose config names its files relative to itself works from anywhere.
  const Ran imported =
      run_axle({"import", "llama.bin", "--tokenizer", "tok.bin", "--out", "model"});
  const Ran generated = run({"--from", folder / "model", "--prompt", "a", "--max-tokens", "2"});
  const Ran trained = run_axle(train_with_vocabulary(dir_ / "run"));
  std::filesystem::current_path(before);
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_EQ(generated.code, 0) << generated.err;
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(read_file(dir_ / "run/config.yaml"), HasSubstr("xe9/tok.bin"));
}

// Weights that are finite, but so large that their products are not.
TEST_F(GenerateVerb, NonFiniteResultsAreErrors) {
  TinyModel tiny = chain_model({{'a', 'b'}}, 260);
  std::ranges::fill(tiny.parameters.at("model/decoder/lm_head/weight").values<float>(), 3e38f);
  save_byte_model(dir_ / "huge", tiny);
  for (const char* temperature : {"0", "1"}) {
    const Ran ran = run({"--from", dir_ / "huge", "--prompt", "a", "--temperature", temperature});
    EXPECT_EQ(ran.code, 17);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr("prompt 1, new token 1: expected finite logits, got NaN"));
  }
  replace_file(dir_ / "text.txt", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
  for (const bool json : {false, true}) {
    std::vector<std::string> arguments = {
        "eval", "--from", dir_ / "huge", "--data", dir_ / "text.txt", "--backend", "interpreter"};
    if (json) arguments.emplace_back("--json");
    const Ran ran = run_axle(arguments);
    EXPECT_EQ(ran.code, 17);
    EXPECT_THAT(ran.out, HasSubstr(json ? "\"loss\": null" : "loss ")) << "the report stays";
    EXPECT_THAT(ran.err, HasSubstr("after step 0: expected finite metrics, got "));
  }
}

TEST_F(GenerateVerb, DamagedCheckpointIsAStorageError) {
  std::filesystem::resize_file(
      std::filesystem::path(dir_ / "model") / "checkpoints/step_00000000/data_00000.bin", 10);
  EXPECT_EQ(run({"--from", dir_ / "model", "--prompt", "a"}).code, 4);
}

TEST_F(GenerateVerb, ImportNamesBadFilesAndKeepsFolders) {
  replace_file(dir_ / "short.bin", "abc");
  const Ran bad = run_axle(
      {"import", dir_ / "short.bin", "--tokenizer", dir_ / "short.bin", "--out", dir_ / "new"});
  EXPECT_EQ(bad.code, 3);
  EXPECT_THAT(bad.err, HasSubstr("short.bin: offset 3: expected a llama2.c header"));
  EXPECT_FALSE(path_exists(dir_ / "new"));
  EXPECT_EQ(run_axle({"import", dir_ / "none.bin", "--tokenizer", "t", "--out", dir_ / "new"}).code,
            3);
  EXPECT_EQ(run_axle({"import", dir_ / "short.bin", "--out", dir_ / "new"}).code, 3);
  replace_file(dir_ / "lfs.safetensors",
               "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
  EXPECT_THAT(run_axle({"import", dir_ / "lfs.safetensors", "--out", dir_ / "new"}).err,
              HasSubstr("lfs.safetensors: expected a llama2.c weight file, got a git-LFS pointer"));

  const TinyLlama llama;
  const std::string model = trained_bpe(), weights = dir_ / "llama.bin",
                    tokenizer = dir_ / "tok.bin";
  replace_file(weights, llama.file());
  replace_file(tokenizer, llama2c_vocabulary(model));
  EXPECT_EQ(run_axle({"import", weights, "--out", dir_ / "new"}).err,
            "axle: --tokenizer: expected the vocabulary of " + weights + ", got none\n");
  // The target folder is checked before any file is read.
  EXPECT_THAT(run_axle({"import", dir_ / "short.bin", "--tokenizer", dir_ / "short.bin", "--out",
                        dir_ / "model"})
                  .err,
              HasSubstr("expected a new or empty folder"));
  EXPECT_EQ(run_axle({"import", weights, "--tokenizer", tokenizer, "--out", dir_ / "model"}).code,
            2);
  const Ran good = run_axle({"import", weights, "--tokenizer", tokenizer, "--out", dir_ / "new"});
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
