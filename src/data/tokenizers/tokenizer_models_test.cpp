// Compares tokenizers of every kind that the SentencePiece library trains with the library itself.
// Sends text through a vocabulary into batches and back.
#include "data/text_input.h"
#include "data/tokenizers/tokenizer_library_test.h"
#include "io/file.h"
#include "testing/temp_dir.h"
#include "testing/tiny_llama.h"
#include "testing/trained_tokenizer.h"

namespace axle {
namespace {

struct Kind {
  const char* name;
  const char* options;
};
class TokenizerModels : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(
    Trained, TokenizerModels,
    ::testing::Values(
        Kind{"bpe", "--model_type=bpe --vocab_size=400"},
        Kind{"bpe_bytes",
             "--model_type=bpe --vocab_size=512 --byte_fallback=true "
             "--normalization_rule_name=identity"},
        Kind{"bpe_of_llama",
             "--model_type=bpe --vocab_size=512 --byte_fallback=true --split_digits=true "
             "--normalization_rule_name=identity --remove_extra_whitespaces=false"},
        Kind{"unigram", "--model_type=unigram --vocab_size=300"},
        Kind{"unigram_bytes", "--model_type=unigram --vocab_size=500 --byte_fallback=true"},
        Kind{"no_space_in_front", "--model_type=bpe --vocab_size=400 --add_dummy_prefix=false"},
        Kind{"all_spaces_kept",
             "--model_type=unigram --vocab_size=300 "
             "--remove_extra_whitespaces=false"},
        Kind{"spaces_behind",
             "--model_type=bpe --vocab_size=400 "
             "--treat_whitespace_as_suffix=true"},
        Kind{"own_symbols",
             "--model_type=bpe --vocab_size=400 --user_defined_symbols=<sep>,[x] "
             "--control_symbols=<pad2>"},
        Kind{"other_ids",
             "--model_type=unigram --vocab_size=300 --pad_id=0 --unk_id=3 --bos_id=-1"},
        Kind{"characters", "--model_type=char --vocab_size=60"},
        Kind{"words", "--model_type=word --vocab_size=150"}),
    [](const auto& kind) { return kind.param.name; });

TEST_P(TokenizerModels, DecodeAsTheLibraryDoes) {
  const TempDir dir;
  replace_file(dir / "m.model", trained_tokenizer(GetParam().options));
  expect_decodes_as_the_library(dir / "m.model", made_up_lines(200, 8));
}

// Long texts, whose sums of scores are rounded many times, and what is no UTF-8.
TEST_P(TokenizerModels, LongTextsHaveTheIdsOfTheLibrary) {
  const TempDir dir;
  replace_file(dir / "m.model", trained_tokenizer(GetParam().options));
  const auto ours = sentencepiece_tokenizer(dir / "m.model");
  sentencepiece::SentencePieceProcessor library;
  ASSERT_TRUE(library.Load(dir / "m.model").ok());
  std::string text;
  for (const std::string& line : odd_texts(made_up_lines(2000, 8))) text += line + "\n";
  EXPECT_EQ(ours->encode(text), library.EncodeAsIds(text));
  for (const char* bad : {"\xff", "ba\xe7\x8c ke", "\xed\xa0\x80 ti", "\xf4\x90\x80\x80"})
    EXPECT_EQ(ours->encode(bad), library.EncodeAsIds(bad)) << bad;
}

TEST(Llama2cVocabulary, EncodesAsTheModelThatItCameFrom) {
  const TempDir dir;
  const std::string model = trained_bpe();
  replace_file(dir / "m.model", model);
  replace_file(dir / "m.bin", llama2c_vocabulary(model));
  expect_vocabulary_is_the_models(dir / "m.bin", dir / "m.model", made_up_lines(200, 8));
}

TEST(TextThroughAVocabulary, RowsInOrderDecodeToTheText) {
  const TempDir dir;
  std::string text;
  for (const std::string& line : made_up_lines(2000, 9)) text += line + "\n";
  replace_file(dir / "text.txt", text);
  replace_file(dir / "m.bin", llama2c_vocabulary(trained_bpe()));
  const Llama2cTokenizer::Config vocabulary{.path = dir / "m.bin"};
  const TextInput::Config cfg{.source = TextSource::Config{.path = dir / "text.txt"},
                              .tokenizer = vocabulary,
                              .seq_len = 256,
                              .batch_size = 16,
                              .shuffle = Shuffle::kNone,
                              .epochs = 1};
  const auto input = Child<Input>(cfg).build({.vocab_size = 512, .seed = 0}, {.path = "input"});
  std::vector<int32_t> labels;
  double num_bytes = 0;
  while (const auto batch = input->next()) {
    for (const int32_t label : batch->tensors.at("target_labels").values<int32_t>()) {
      if (label != kIgnoredLabel) labels.push_back(label);
    }
    num_bytes += batch->num_target_bytes;
  }
  const auto tokenizer = Child<Tokenizer>(vocabulary).build({}, {});
  EXPECT_EQ(tokenizer->decode(labels), text);
  EXPECT_NEAR(num_bytes, static_cast<double>(text.size()), 1e-6);  // without the added space
  EXPECT_EQ(input->facts().num_bytes, std::ssize(text));
  EXPECT_EQ(to_text(input->facts()), "1 file, " + std::to_string(text.size()) + " bytes");
}

// Losses in bits per byte count the bytes of the text itself, regardless of the vocabulary: it
// may drop spaces in normalization, lack characters, and add a space before each document.
TEST_P(TokenizerModels, LabelsCountTheBytesOfTheText) {
  const TempDir dir;
  std::string text;
  for (const std::string& line : made_up_lines(200, 8)) text += "    " + line + "  \u00fc\u4e16\n";
  replace_file(dir / "text.txt", text);
  replace_file(dir / "m.model", trained_tokenizer(GetParam().options));
  const SentencePieceTokenizer::Config vocabulary{.path = dir / "m.model"};
  const auto tokenizer = Child<Tokenizer>(vocabulary).build({}, {});
  for (const DocumentUnit unit : {DocumentUnit::kFile, DocumentUnit::kLine}) {
    const TextInput::Config cfg{
        .source = TextSource::Config{.path = dir / "text.txt", .unit = unit},
        .tokenizer = vocabulary,
        .seq_len = 32,
        .batch_size = 4,
        .epochs = 1};
    const auto input = Child<Input>(cfg).build({.vocab_size = tokenizer->vocab_size(), .seed = 0},
                                               {.path = "input"});
    double num_bytes = 0;
    while (const auto batch = input->next()) num_bytes += batch->num_target_bytes;
    const auto all = static_cast<double>(input->facts().num_bytes);
    if (tokenizer->special_ids().bos) {
      EXPECT_NEAR(num_bytes, all, 1e-6 * all);
    } else {  // the first token of a document is no label
      EXPECT_LT(num_bytes, all);
      EXPECT_GT(num_bytes, 0.8 * all);
    }
  }
}

}  // namespace
}  // namespace axle
