// Real vocabularies and texts: compares SentencePiece models with the library itself, and the
// llama2.c file with the model that it was made from.

#include <sstream>

#include "data/tokenizers/tokenizer_library_test.h"
#include "io/file.h"
#include "testing/foreign_data.h"

namespace axle {
namespace {

class TokenizerForeign : public ForeignDataTest {
 protected:
  static std::vector<std::string> lines() {
    std::vector<std::string> out;
    for (const char* name :
         {"text/tinyshakespeare.txt", "text/wagahaiwa_nekodearu.ja.txt", "text/names.txt"}) {
      std::istringstream stream(read_file(file(name)));
      std::string line;
      for (int i = 0; i < 300 && std::getline(stream, line); ++i) out.push_back(line);
    }
    return out;
  }
};

TEST_F(TokenizerForeign, Llama2cVocabularyEncodesAsItsSentencePieceModel) {
  expect_vocabulary_is_the_models(file("stories260K/tok512.bin"), file("stories260K/tok512.model"),
                                  lines());
}

TEST_F(TokenizerForeign, ModelsDecodeAsTheLibraryDoes) {
  for (const char* model :
       {"stories260K/tok512.model", "tokenizers/spm_test_1k_unigram.model",
        "tokenizers/spm_test_ja.model", "tokenizers/mistral_instruct_tokenizer_240323.model.v3"}) {
    SCOPED_TRACE(model);
    expect_decodes_as_the_library(file(model), lines());
  }
}

}  // namespace
}  // namespace axle
