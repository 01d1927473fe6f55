// Small tokenizers of every kind against Hugging Face's own library: ids and decoded texts.
#include <gtest/gtest.h>

#include "config/fields.h"
#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "data/tokenizers/reference_texts_test.h"
#include "data/tokenizers/tokenizer.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using Ids = std::vector<int32_t>;

std::unique_ptr<Tokenizer> made_tokenizer(const std::string& kind) {
  return Child<Tokenizer>(
             HuggingFaceTokenizer::Config{.path = reference_file("tokenizers/" + kind + ".json")})
      .build({}, {});
}

std::string streamed(const Tokenizer& tokenizer, const Ids& ids) {
  StreamDecoder stream(tokenizer);
  std::string out;
  for (const int32_t id : ids) out += stream.push(id);
  return out + stream.finish();
}

class HuggingFaceParity : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Kinds, HuggingFaceParity,
                         ::testing::Values("gpt2", "llama3", "qwen2", "smollm", "deepseek", "o200k",
                                           "roberta", "removed", "merged_with_previous",
                                           "merged_with_next", "contiguous", "inverted", "cutters",
                                           "bytes_first", "llama2", "mistral", "gemma", "suffixes",
                                           "prefixes", "t5", "nmt", "bert", "bert_cased", "words",
                                           "flags"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST_P(HuggingFaceParity, TextsHaveTheLibrarysIdsAndDecodeAsThere) {
  ReferenceTexts reference;
  const auto tokenizer = made_tokenizer(GetParam());
  const auto& expected = reference.expected(GetParam());
  for (size_t i = 0; i < reference.texts.size(); ++i) {
    const std::string& text = reference.texts[i];
    const Ids ids = expected["ids"][i];
    EXPECT_EQ(tokenizer->encode(text), ids) << text;
    const auto& special = expected["with_special"][i];
    EXPECT_EQ(tokenizer->encode_with_special(text), special.is_null() ? ids : special.get<Ids>())
        << text;
    if (i < expected["framed"].size()) {
      EXPECT_EQ(tokenizer->framed(ids), expected["framed"][i].get<Ids>());
    }
    const std::string decoded = expected["decoded"][i];
    EXPECT_EQ(tokenizer->decode(ids), decoded) << text;
    EXPECT_EQ(streamed(*tokenizer, ids), decoded) << text;
  }
}

TEST_P(HuggingFaceParity, RandomStringsHaveTheLibrarysIdsAndDecodeAsThere) {
  ReferenceTexts reference;
  const auto tokenizer = made_tokenizer(GetParam());
  const auto& expected = reference.expected(GetParam())["random"];
  ReferenceRandom random(7);
  for (int block = 0; block < reference.num_blocks; ++block) {
    ReferenceDigest ids, texts;
    for (int i = 0; i < reference.block; ++i) {
      const std::string text = reference.random_text(random);
      const Ids plain = tokenizer->encode(text), special = tokenizer->encode_with_special(text);
      ids.add(plain);
      ids.add(special);
      ids.add(tokenizer->framed(special));
      texts.add(tokenizer->decode(plain));
    }
    EXPECT_EQ(ids.hex(), expected[block][0].get<std::string>()) << block;
    EXPECT_EQ(texts.hex(), expected[block][1].get<std::string>()) << block;
  }
}

// What transformers puts around a text, for files tokenizer_config.json of many kinds
// (tools/oracle/tokenizer_frames.py).
TEST(HuggingFaceFrames, MatchTransformers) {
  const auto all = read_json(read_file(reference_file("tokenizers/frames.json")));
  const std::string text = all.at("text");
  int num_framed = 0;
  for (const auto& [kind, expected] : all.at("kinds").items()) {
    auto document = read_json(read_file(reference_file("tokenizers/" + kind + ".json")));
    auto frame = expected.at("frames").begin();
    for (const auto& processor : expected.at("post_processors")) {
      document["post_processor"] = processor;
      for (const auto& config : expected.at("configs")) {
        const TempDir dir;
        replace_file(dir / "tokenizer.json", document.dump());
        replace_file(dir / "tokenizer_config.json", config.dump());
        const auto tokenizer =
            Child<Tokenizer>(HuggingFaceTokenizer::Config{.path = dir / "tokenizer.json"})
                .build({}, {});
        const Ids ids = tokenizer->encode(text);
        Ids whole = frame->at(0);
        EXPECT_EQ(tokenizer->special_ids().bos,
                  whole.empty() ? std::nullopt : std::optional(whole[0]));
        whole.insert(whole.end(), ids.begin(), ids.end());
        for (const int32_t id : frame->at(1)) whole.push_back(id);
        EXPECT_EQ(tokenizer->framed(ids), whole) << processor << " " << config;
        num_framed += whole.size() > ids.size();
        ++frame;
      }
    }
    EXPECT_EQ(frame, expected.at("frames").end());
  }
  EXPECT_GT(num_framed, 100);
}

// What transformers makes of the files beside a tokenizer.json that name tokens
// (tools/oracle/named_tokens.py).
TEST(HuggingFaceNamedTokens, MatchTransformers) {
  const auto all = read_json(read_file(reference_file("tokenizers/named_tokens.json")));
  const auto texts = all.at("texts").get<std::vector<std::string>>();
  for (const auto& expected : all.at("cases")) {
    SCOPED_TRACE(expected.at("files").dump());
    const TempDir dir;
    const std::string path = dir / "tokenizer.json";
    replace_file(path, all.at("documents").at(expected.at("document")).dump());
    for (const auto& [name, content] : expected.at("files").items())
      replace_file(dir / (name + ".json"), content.dump());
    const auto tokenizer =
        Child<Tokenizer>(HuggingFaceTokenizer::Config{.path = path}).build({}, {});
    for (size_t i = 0; i < texts.size(); ++i) {
      const Ids ids = tokenizer->encode_with_special(texts[i]);
      EXPECT_EQ(ids, expected.at("with_special")[i].get<Ids>()) << texts[i];
      EXPECT_EQ(tokenizer->encode(texts[i]), expected.at("plain")[i].get<Ids>()) << texts[i];
      EXPECT_EQ(tokenizer->decode(ids), expected.at("decoded")[i].get<std::string>()) << texts[i];
    }
    nlohmann::ordered_json added = nlohmann::ordered_json::object();
    for (const int32_t id : tokenizer->added_ids())
      added[std::to_string(id)] = tokenizer->token(id);
    EXPECT_EQ(added, expected.at("added"));
    const auto id = [&](const char* name) {
      const auto& json = expected.at(name);
      return json.is_null() ? std::nullopt : std::optional(json.get<int32_t>());
    };
    EXPECT_EQ(tokenizer->special_ids().eos, id("eos"));
    EXPECT_EQ(tokenizer->special_ids().pad, id("pad"));
    EXPECT_EQ(tokenizer->vocab_size(), expected.at("vocab_size"));
  }
  EXPECT_GT(all.at("cases").size(), 100u);
}

}  // namespace
}  // namespace axle
