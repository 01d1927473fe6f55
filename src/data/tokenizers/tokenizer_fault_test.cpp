// Damaged tokenizer files cause an error that names the file, or a tokenizer that works; never a
// crash.
#include <gmock/gmock.h>
#include <sentencepiece_processor.h>
#include <sys/mman.h>

#include "config/fields.h"
#include "data/tokenizers/llama2c_tokenizer.h"
#include "data/tokenizers/sentencepiece_tokenizer.h"
#include "io/file.h"
#include "io/proto.h"
#include "testing/error_of.h"
#include "testing/llama2c_vocabulary.h"
#include "testing/mutants.h"
#include "testing/temp_dir.h"
#include "testing/trained_tokenizer.h"

namespace axle {
namespace {

class TokenizerFault : public ::testing::Test {
 protected:
  // Returns how many of the damaged files were refused, with their name. The others must encode and
  // decode text.
  template <class Config>
  int num_refused(const std::vector<std::string>& files) {
    int refused = 0;
    for (size_t i = 0; i < files.size(); ++i) {
      FileWriter(path_).write(files[i]);
      refused += ends_well(
          [&] {
            const auto tokenizer = built<Config>();
            for (const char* text :
                 {"", "bakeri tilomu 42!", "caf\xc3\xa9 \xef\xbc\xa1\xe3\x8e\x8f",
                  "\xe7\x8c\xab \xf0\x9f\x98\x80", "\xff\xc3"}) {
              const auto ids = tokenizer->encode(text);
              for (const int32_t id : ids) ASSERT_TRUE(id >= 0 && id < tokenizer->vocab_size());
              tokenizer->decode(ids);
            }
          },
          {ExitCode::kData}, "damage " + std::to_string(i));
    }
    return refused;
  }
  template <class Config>
  std::unique_ptr<Tokenizer> built() {
    try {
      return Child<Tokenizer>(Config{.path = path_}).build({}, {});
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::StartsWith(path_));
      throw;
    }
  }
  TempDir dir_;
  std::string path_ = dir_ / "damaged.model";
};

// Returns where the table of normalized characters begins in a model that has one.
size_t chars_map_at(const std::string& model) { return model.find("nmt_nfkc") + 8; }

TEST_F(TokenizerFault, SentencePieceModels) {
  for (const std::string& model : {trained_bpe(), trained_unigram()})
    EXPECT_GT(num_refused<SentencePieceTokenizer::Config>(mutants(model, 1500, 4096)), 100);
}

// The library ignores fields of another kind than its own; Axle's reader refuses them.
TEST_F(TokenizerFault, FieldsOfAnotherKindAreNamedWithTheFile) {
  std::vector<std::string> files;
  for (const char field : {1, 2, 3, 5}) {
    for (const std::string& rest :
         {std::string("\x00\x01", 2), "\x01" + std::string(8, 'x'), "\x05" + std::string(4, 'x')}) {
      const char key = static_cast<char>(field << 3 | rest[0]);
      files.push_back(trained_bpe() + key + rest.substr(1));
    }
  }
  EXPECT_EQ(num_refused<SentencePieceTokenizer::Config>(files), std::ssize(files));
}

// The library follows this table without checks: one changed byte was a segmentation fault.
TEST_F(TokenizerFault, TheTableOfNormalizedCharacters) {
  const std::string model = trained_unigram();
  const size_t table = chars_map_at(model);
  ASSERT_LT(table, model.size());
  std::mt19937 random(11);
  std::vector<std::string> files;
  for (int i = 0; i < 500; ++i) {
    std::string bytes = model;
    for (unsigned n = 1 + random() % 3; n > 0; --n)
      bytes[table + random() % (i % 2 ? 40 : 2048)] = static_cast<char>(random());
    files.push_back(bytes);
  }
  EXPECT_GT(num_refused<SentencePieceTokenizer::Config>(files), 100);
}

// For such a piece, the library's trie throws an exception of its own.
TEST_F(TokenizerFault, APieceThatBeginsWithANul) {
  std::string model = trained_unigram();
  ProtoReader reader(model);
  for (int i = 0; i < 10; ++i) reader.next();  // after the special pieces
  const auto text = ProtoReader(reader.next()->bytes()).next()->bytes();
  model[text.data() - model.data()] = '\0';
  EXPECT_EQ(num_refused<SentencePieceTokenizer::Config>({model}), 1);
}

std::string llama2c_vocabulary() {
  ScoredPieces pieces;
  for (const char* piece : {" ", "b", "a", "ba", "ke", "\xe7\x8c\xab", " ba", " bake"})
    pieces.emplace_back(piece, -2.0f);
  return vocabulary_file(pieces);
}

TEST_F(TokenizerFault, Llama2cVocabularies) {
  EXPECT_GT(num_refused<Llama2cTokenizer::Config>(mutants(llama2c_vocabulary(), 1000)), 200);
}

// Positions beyond the range of i32 would become negative.
TEST_F(TokenizerFault, TextOfTwoGibibytes) {
  constexpr size_t kSize = size_t{1} << 31;
  void* zeros =
      ::mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(zeros, MAP_FAILED);
  const std::string_view text(static_cast<const char*>(zeros), kSize);
  const auto error = [&](const auto& config, const std::string& file) {
    FileWriter(path_).write(file);
    const auto tokenizer = Child<Tokenizer>(config).build({}, {});
    return error_of<DataError>([&] { tokenizer->encode(text); });
  };
  const std::string expected =
      path_ +
      ": expected documents of less than 2147483648 bytes, got 2147483648; split them, or "
      "use --set input.source.unit=line";
  EXPECT_EQ(error(Llama2cTokenizer::Config{.path = path_}, llama2c_vocabulary()), expected);
  EXPECT_EQ(error(SentencePieceTokenizer::Config{.path = path_}, trained_bpe()), expected);
  ::munmap(zeros, kSize);
}

}  // namespace
}  // namespace axle
