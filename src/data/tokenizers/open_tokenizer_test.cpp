#include "data/tokenizers/open_tokenizer.h"

#include <gmock/gmock.h>

#include "data/tokenizers/ranks/ranks_files_test.h"
#include "data/tokenizers/sentencepiece_tokenizer.h"
#include "io/file.h"
#include "io/gguf/save_gguf.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/llama2c_vocabulary.h"
#include "testing/temp_dir.h"
#include "testing/trained_tokenizer.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

class OpenTokenizer : public ::testing::Test {
 protected:
  std::string class_for(const std::string& bytes) {
    replace_file(path_, bytes);
    return std::string(tokenizer_in_file(path_, "--tokenizer").any().type().name);
  }
  std::string error_for(const std::string& bytes) {
    return error_of<DataError>([&] { class_for(bytes); });
  }
  TempDir dir_;
  std::string path_ = dir_ / "m";
};

TEST_F(OpenTokenizer, ContentDecidesTheClass) {
  EXPECT_EQ(class_for(read_file(reference_file("tokenizers/gpt2.json"))), "HuggingFaceTokenizer");
  EXPECT_EQ(class_for(R"({"model": {}})"), "HuggingFaceTokenizer");
  EXPECT_EQ(class_for(ranks_file()), "RanksTokenizer");
  EXPECT_EQ(class_for(tekken_file().dump(2)), "TekkenTokenizer");
  EXPECT_EQ(class_for(trained_bpe()), "SentencePieceTokenizer");
  EXPECT_EQ(class_for(vocabulary_file({{"ab", -1}})), "Llama2cTokenizer");
  save_gguf(path_, GgufMetadata(), {});
  EXPECT_EQ(class_for(read_file(path_)), "GgufTokenizer");
}

TEST_F(OpenTokenizer, FolderMayNameTheTokenizerInIt) {
  EXPECT_THAT(error_of<DataError>([&] { tokenizer_in_file(dir_.path(), "--tokenizer"); }),
              HasSubstr("got a folder without; set --tokenizer"));
  replace_file(dir_ / "tokenizer.model", trained_bpe());
  EXPECT_EQ(tokenizer_path(dir_.path()), dir_ / "tokenizer.model");
  replace_file(dir_ / "tokenizer.json", read_file(reference_file("tokenizers/gpt2.json")));
  EXPECT_EQ(tokenizer_path(dir_.path()), dir_ / "tokenizer.json");
  EXPECT_EQ(tokenizer_path(path_), path_);
  const auto tokenizer =
      tokenizer_in_file(dir_.path(), "--tokenizer").build({}, {.path = "tokenizer"});
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("one folder")), "one folder");
}

TEST_F(OpenTokenizer, OtherFilesAreRefusedByName) {
  EXPECT_THAT(error_for("#version: 0.2\nt h\na n\n"),
              HasSubstr("llama2.c), got a list of BPE merges, as of GPT-2; name the tokenizer.json "
                        "beside it"));
  EXPECT_THAT(error_for("just some text"), HasSubstr("got another file"));
  EXPECT_THAT(error_of<DataError>([&] { tokenizer_in_file(dir_ / "none", "--tokenizer"); }),
              HasSubstr("set --tokenizer"));
  // A class that is given the file of another says which class reads it.
  replace_file(path_, ranks_file());
  const Child<Tokenizer> wrong = SentencePieceTokenizer::Config{.path = path_};
  EXPECT_EQ(error_of<DataError>([&] { wrong.build({}, {.path = "t"}); }),
            path_ +
                ": expected a SentencePiece model, got a file of ranks, as of tiktoken and Llama "
                "3; the class RanksTokenizer reads it");
}

}  // namespace
}  // namespace axle
