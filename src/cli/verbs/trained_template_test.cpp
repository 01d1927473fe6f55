// A run whose data were rendered by a chat template: conversations with it and exports of it have
// that template, for any input, also once the data and the template's file have gone.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/run_test.h"
#include "config/fields.h"
#include "data/chat/chat_template.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "io/file.h"
#include "io/gguf/gguf_file.h"
#include "testing/environment_change.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kMine =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }};{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";

class TrainedTemplate : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(dir_ / "data");
    replace_file(dir_ / "data/mine.jinja", kMine);
    std::string talks, pairs;
    for (int i = 0; i < 4; ++i) {
      talks += R"({"instruction": "a", "output": "yes"})"
               "\n";
      pairs += R"({"prompt": "a", "chosen": "yes", "rejected": "no"})"
               "\n";
    }
    replace_file(dir_ / "data/talks.jsonl", talks);
    replace_file(dir_ / "data/pairs.jsonl", pairs);
    replace_file(dir_ / "data/text.txt", std::string(2000, 't'));
  }
  void build(const std::string& what, const Arguments& more) {
    const Ran ran = run_axle(joined({"data", "build", dir_ / ("data/" + what + ".jsonl"),
                                     "--tokenizer", "bytes", "--out", dir_ / ("data/" + what)},
                                    more));
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  void train(const std::string& run, const Arguments& more) {
    Arguments all = joined(
        {"train", "quickstart", "--steps", "1", "--dir", dir_ / run, "--backend", "interpreter"},
        tiny_quickstart());
    const Ran ran = run_axle(
        replaced(joined(all, {"--set", "input.seq_len=96", "--set", "input.split=all"}), more));
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  std::string prompt_of(const std::string& from) {
    const Ran ran = run_axle({"generate", "--backend", "interpreter", "--from", dir_ / from,
                              "--chat", "--prompt", "hi", "--max-tokens", "1", "--json"});
    return ran.code == 0 ? Json::parse(ran.out).at("prompt").get<std::string>() : ran.err;
  }
  void expect_template(const std::string& run, const std::string& text) {
    const std::string prompt =
        chat_of(text).render(std::vector{message()}, {}, {.add_generation_prompt = true}).text;
    EXPECT_EQ(prompt_of(run), prompt);
    for (const std::string format : {"hf", "gguf"}) {
      const std::string out = run + "." + format;
      const Ran ran = run_axle({"export", dir_ / run, "--format", format, "--out", dir_ / out});
      ASSERT_EQ(ran.code, 0) << ran.err;
      EXPECT_EQ(prompt_of(out), prompt) << format;
    }
    const Json config = Json::parse(read_file(dir_ / (run + ".hf/tokenizer_config.json")));
    EXPECT_EQ(config.at("chat_template"), text);
    EXPECT_EQ(GgufFile(dir_ / (run + ".gguf")).metadata().at("tokenizer.chat_template").text(),
              text);
  }
  static jinja::Value message() {
    return jinja::Value::dict({{"role", "user"}, {"content", "hi"}});
  }
  static ChatTemplate chat_of(const std::string& text) {
    const auto tokenizer = Child<Tokenizer>(ByteTokenizer::Config{}).build({}, {});
    return chat_template_of_text(*tokenizer, text, "t");
  }
  Arguments mine() { return {"--chat-template", dir_ / "data/mine.jinja"}; }
  Arguments set_mine(const std::string& at = "input") {
    return {"--set", at + ".chat_template=" + (dir_ / "data/mine.jinja")};
  }

  TempDir dir_;
  EnvironmentChange cache_{"XDG_CACHE_HOME", dir_ / "data"};
};

TEST_F(TrainedTemplate, ComesFromTheDataOfAnyKindOfInput) {
  const std::string talks = dir_ / "data/talks.jsonl", pairs = dir_ / "data/pairs.jsonl",
                    text = dir_ / "data/text.txt";
  build("talks", mine());
  build("pairs", mine());
  train("talks", joined({"--data", talks}, set_mine()));
  train("streamed", joined({"--data", talks, "--set", "input.memory_bytes=1"}, set_mine()));
  train("tokens", {"--data", dir_ / "data/talks.idx"});
  train("mixture", joined({"--data", talks + "=0.5", "--data", text + "=0.5"},
                          set_mine("input.sources.talks")));
  const Arguments dpo = {"--init-from", dir_ / "talks", "--dpo", "beta=0.1", "--data"};
  train("pairs", joined(joined(dpo, {pairs}), set_mine()));
  train("pairs_tokens", joined(dpo, {dir_ / "data/pairs.idx"}));
  fs::remove_all(dir_ / "data");
  for (const char* run : {"talks", "streamed", "tokens", "mixture", "pairs", "pairs_tokens"}) {
    SCOPED_TRACE(run);
    expect_template(run, kMine);
  }
}

// Also where the data are of another kind than before.
TEST_F(TrainedTemplate, IsInheritedByLaterRunsAndEvaluations) {
  build("talks", mine());
  train("tokens", {"--data", dir_ / "data/talks.idx"});
  const std::string talks = dir_ / "data/talks.jsonl", pairs = dir_ / "data/pairs.jsonl",
                    text = dir_ / "data/text.txt", kept = "/trained_chat_template.jinja";
  const auto tune = [&](const std::string& run, const Arguments& more) {
    const Ran ran = run_axle(joined({"train", "--init-from", dir_ / "tokens", "--steps", "1",
                                     "--dir", dir_ / run, "--backend", "interpreter"},
                                    joined(set_flags({"input.seq_len=96", "input.batch_size=1",
                                                      "input.split=all", "evalers={}"}),
                                           more)));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(read_file((dir_ / run) + kept), kMine) << run;
  };
  tune("tuned", {"--data", talks});
  tune("preferred", {"--dpo", "beta=0.1", "--data", pairs});
  tune("mixed", {"--data", talks + "=0.5", "--data", text + "=0.5"});
  const auto evaluated = [&](const Arguments& more) {
    const Ran ran = run_axle(joined({"eval", "--from", dir_ / "tokens", "--data", talks, "--json",
                                     "--backend", "interpreter", "--set", "input.split=all"},
                                    more));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.code == 0 ? Json::parse(ran.out).at("metrics").dump() : ran.err;
  };
  const std::string own = evaluated({});
  EXPECT_EQ(own, evaluated(set_mine()));
  replace_file(dir_ / "data/other.jinja", "{{ messages[1].content }}!");
  EXPECT_NE(own, evaluated({"--set", "input.chat_template=" + (dir_ / "data/other.jinja")}));
}

TEST_F(TrainedTemplate, MayBeThePlainTemplate) {
  build("talks", {});
  train("run", {"--data", dir_ / "data/talks.idx"});
  const auto tokenizer = Child<Tokenizer>(ByteTokenizer::Config{}).build({}, {});
  expect_template("run", plain_chat_template(*tokenizer).source());
}

// Its folder may have that of a start that was given up.
TEST_F(TrainedTemplate, RunsOnTextHaveNone) {
  fs::create_directory(dir_ / "run");
  replace_file(dir_ / "run/trained_chat_template.jinja", kMine);
  train("run", {"--data", dir_ / "data/text.txt"});
  EXPECT_THAT(prompt_of("run"), ::testing::HasSubstr("got one without"));
}

TEST_F(TrainedTemplate, IsKeptByMergedAdaptersAndFollowsNewData) {
  const Arguments lora = {"--modify", "Lora: {rank: 2}", "--data", dir_ / "data/talks.jsonl"};
  train("run", joined(lora, set_mine()));
  const Ran merged = run_axle({"checkpoint", "merge", dir_ / "run", "--dir", dir_ / "merged"});
  ASSERT_EQ(merged.code, 0) << merged.err;
  replace_file(dir_ / "data/mine.jinja", std::string("{# new #}") + kMine);
  EXPECT_EQ(prompt_of("merged"), "<user>hi;<assistant>");
  const Arguments again = {"--restart-data", "--steps", "2"};
  train("run", joined(joined(lora, set_mine()), again));
  EXPECT_EQ(read_file(dir_ / "run/trained_chat_template.jinja"), std::string("{# new #}") + kMine);
}

}  // namespace
}  // namespace axle
