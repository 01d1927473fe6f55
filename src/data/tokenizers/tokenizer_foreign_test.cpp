// Real vocabularies and texts: compares SentencePiece models with the library itself, and the
// llama2.c file with the model that it was made from.

#include <sstream>

#include "data/tokenizers/mixed_texts_test.h"
#include "io/file.h"
#include "testing/foreign_data.h"

namespace axle {
namespace {

class TokenizerForeign : public ForeignDataTest {
 protected:
  /// The first lines of the texts that the folder has.
  static std::vector<std::string> lines() {
    std::vector<std::string> out;
    for (const char* name : {"text/english.txt", "text/japanese.txt", "text/code.txt"}) {
      if (!path_exists(file(name))) continue;
      std::istringstream stream(read_file(file(name)));
      std::string line;
      for (int i = 0; i < 300 && std::getline(stream, line); ++i) out.push_back(line);
    }
    return out;
  }
};

TEST_F(TokenizerForeign, Llama2cVocabularyEncodesAsItsSentencePieceModel) {
  AXLE_NEEDS_FILES("stories260K/tok512.bin", "stories260K/tok512.model");
  expect_vocabulary_is_the_models(file("stories260K/tok512.bin"), file("stories260K/tok512.model"),
                                  lines());
}

class ModelForeign : public TokenizerForeign, public ::testing::WithParamInterface<const char*> {};

TEST_P(ModelForeign, DecodesAsTheLibraryDoes) {
  AXLE_NEEDS_FILES(GetParam());
  expect_decodes_as_the_library(file(GetParam()), lines());
}

TEST_P(ModelForeign, EncodesMixedTextsAsTheLibraryDoes) {
  AXLE_NEEDS_FILES(GetParam());
  expect_mixed_texts_as_the_library(file(GetParam()), 20000);
}

INSTANTIATE_TEST_SUITE_P(
    OfAll, ModelForeign,
    ::testing::Values("stories260K/tok512.model", "tokenizers/spm_test_1k_unigram.model",
                      "tokenizers/spm_test_ja.model", "tokenizers/tokenizer.model.v1",
                      "tokenizers/mistral_instruct_tokenizer_240216.model.v2",
                      "tokenizers/mistral_instruct_tokenizer_240323.model.v3",
                      "tokenizers/mistral_instruct_tokenizer_241114.model.v7"));

}  // namespace
}  // namespace axle
