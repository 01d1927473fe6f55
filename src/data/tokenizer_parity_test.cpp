// Real vocabularies: SentencePiece models against the library itself, the llama2.c file against the
// model it came from.

#include <gtest/gtest.h>
#include <sentencepiece_processor.h>

#include <random>

#include "data/llama2c_tokenizer.h"
#include "data/sentencepiece_tokenizer.h"
#include "data/stream_decoder.h"
#include "io/file.h"
#include "testing/checkout.h"

namespace axle {
namespace {

const std::string kData = source_file("../shared/data/").string();

std::unique_ptr<Tokenizer> sentencepiece(const std::string& path) {
  return Child<Tokenizer>(SentencePieceTokenizer::Config{.path = kData + path}).build({}, {});
}

// Lines of real text, odd whitespace, other scripts, and nonsense made of pieces of all of these.
std::vector<std::string> texts(unsigned seed) {
  std::vector<std::string> out = {
      "Hello, world!",
      " leading",
      "trailing ",
      "two  spaces   three",
      "tab\tand\nnewline\r\n",
      " ",
      "  ",
      "caf\xc3\xa9 na\xc3\xafve \xe2\x82\xac\xf0\x9f\x98\x80",
      "<s>not special</s> <0x41> <unk>",
      "\xe5\x90\xbe\xe8\xbc\xa9\xe3\x81\xaf\xe7\x8c\xab\xe3\x81\xa7\xe3\x81\x82\xe3\x82\x8b",
      "aaaaaaaaaaaaaaaaaaaaaaaa"};
  for (const char* file :
       {"text/tinyshakespeare.txt", "text/wagahaiwa_nekodearu.ja.txt", "text/names.txt"}) {
    std::istringstream lines(read_file(kData + file));
    std::string line;
    for (int i = 0; i < 300 && std::getline(lines, line); ++i) out.push_back(line);
  }
  std::mt19937 random(seed);
  for (int i = 0; i < 300; ++i) {
    std::string mixed;
    for (int n = static_cast<int>(random() % 6); n >= 0; --n)
      mixed += out[random() % 200] + (random() % 2 ? " " : "");
    out.push_back(mixed);
  }
  return out;
}

// The model drops extra spaces before it encodes, the vocabulary file keeps them.
std::string without_extra_spaces(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

class TokenizerParity : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!path_exists(kData + "tokenizers")) GTEST_SKIP() << "no ../shared/data beside the source";
    seed_ = std::random_device{}();
    RecordProperty("seed", static_cast<int>(seed_));
    std::cout << "seed " << seed_ << "\n";
  }
  unsigned seed_ = 0;
};

TEST_F(TokenizerParity, Llama2cVocabularyEncodesAsItsSentencePieceModel) {
  const auto model = sentencepiece("stories260K/tok512.model");
  const auto ours =
      Child<Tokenizer>(Llama2cTokenizer::Config{.path = kData + "stories260K/tok512.bin"})
          .build({}, {});
  ASSERT_EQ(ours->vocab_size(), 512);
  ASSERT_EQ(model->vocab_size(), 512);
  EXPECT_EQ(ours->special_ids().bos, model->special_ids().bos);
  EXPECT_EQ(ours->special_ids().eos, model->special_ids().eos);
  for (int32_t id = 1; id < 512; ++id) EXPECT_EQ(ours->piece(id), model->piece(id)) << id;
  for (const auto& text : texts(seed_)) {
    ASSERT_EQ(ours->encode(without_extra_spaces(text)), model->encode(text)) << text;
    ASSERT_EQ(ours->decode(ours->encode(text)), text);
  }
}

class SentencePieceParity : public TokenizerParity,
                            public ::testing::WithParamInterface<const char*> {};

TEST_P(SentencePieceParity, DecodesAsTheLibraryDoes) {
  const auto ours = sentencepiece(GetParam());
  sentencepiece::SentencePieceProcessor library;
  ASSERT_TRUE(library.Load(kData + GetParam()).ok());
  for (const auto& text : texts(seed_)) {
    const auto ids = ours->encode(text);
    ASSERT_EQ(ours->decode(ids), library.DecodeIds(ids)) << text;
  }
  // Ids in any order, whatever text they make.
  std::mt19937 random(seed_);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<int> ids;
    for (size_t n = random() % 12; n > 0; --n)
      ids.push_back(static_cast<int>(random() % static_cast<unsigned>(library.GetPieceSize())));
    ASSERT_EQ(ours->decode(ids), library.DecodeIds(ids)) << ::testing::PrintToString(ids);
    StreamDecoder stream(*ours);
    std::string streamed;
    for (const int id : ids) streamed += stream.push(id);
    ASSERT_EQ(streamed + stream.finish(), library.DecodeIds(ids));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, SentencePieceParity,
    ::testing::Values("stories260K/tok512.model", "tokenizers/spm_test_1k_unigram.model",
                      "tokenizers/spm_test_ja.model",
                      "tokenizers/mistral_instruct_tokenizer_240323.model.v3"));

}  // namespace
}  // namespace axle
