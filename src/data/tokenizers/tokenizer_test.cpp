#include "data/tokenizers/tokenizer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/error.h"
#include "base/text/unicode.h"
#include "config/fields.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "data/tokenizers/llama2c_tokenizer.h"
#include "data/tokenizers/sentencepiece_tokenizer.h"
#include "io/file.h"
#include "testing/error_of.h"
#include "testing/llama2c_vocabulary.h"
#include "testing/resource_limits.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const Scope kScope{.path = "input.tokenizer"};

std::unique_ptr<Tokenizer> bytes() {
  return Child<Tokenizer>(ByteTokenizer::Config{}).build({}, kScope);
}

TEST(ByteTokenizer, BytesAreIdsAndTheBoundaryHasNoText) {
  const auto tokenizer = bytes();
  EXPECT_EQ(tokenizer->vocab_size(), 257);
  EXPECT_THAT(tokenizer->encode("A\xc3\xa9"), ElementsAre(65, 0xc3, 0xa9));
  EXPECT_EQ(tokenizer->decode(std::vector<int32_t>{256, 65, 0xc3, 0xa9, 256, 300, -1}),
            "A\xc3\xa9");
  EXPECT_EQ(tokenizer->special_ids().bos, 256);
  EXPECT_EQ(tokenizer->special_ids().eos, 256);
  EXPECT_EQ(tokenizer->piece(0), std::string_view("\0", 1));
}

TEST(ByteTokenizer, VocabularyIsRoundedUpOnRequestOnly) {
  const auto build = [](int64_t size) {
    return Child<Tokenizer>(ByteTokenizer::Config{.vocab_size = size})
        .build({}, kScope)
        ->vocab_size();
  };
  EXPECT_EQ(build(320), 320);
  EXPECT_THAT([&] { build(256); },
              ThrowsMessage<ConfigError>(
                  "input.tokenizer.vocab_size: expected an integer of at least 257, got 256"));
}

TEST(StreamDecoder, NeverCutsACharacter) {
  const auto tokenizer = bytes();
  StreamDecoder decoder(*tokenizer);
  const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
  std::vector<std::string> parts;
  for (const int32_t id : tokenizer->encode(text)) parts.push_back(decoder.push(id));
  EXPECT_THAT(parts, ElementsAre("a", "", "\xc3\xa9", "", "", "\xe2\x82\xac", "", "", "",
                                 "\xf0\x9f\x98\x80"));
  EXPECT_EQ(decoder.finish(), "");
}

TEST(StreamDecoder, InvalidBytesBecomeReplacementCharacters) {
  const auto tokenizer = bytes();
  EXPECT_EQ(tokenizer->decode(std::vector<int32_t>{0xe2, 0x82, 'x', 0xff}),
            "\xef\xbf\xbd\xef\xbf\xbdx\xef\xbf\xbd");
  StreamDecoder decoder(*tokenizer);
  EXPECT_EQ(decoder.push(0xe2), "");
  EXPECT_EQ(decoder.finish(), "\xef\xbf\xbd");
}

TEST(StreamDecoder, RandomIdsDecodeToValidUtf8) {
  const auto tokenizer = bytes();
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  StreamDecoder decoder(*tokenizer);
  for (int i = 0; i < 100000; ++i) {
    ASSERT_EQ(find_invalid_utf8(decoder.push(static_cast<int32_t>(random() % 260))), std::nullopt);
  }
}

TEST(Tokenizer, MissingAndForeignFilesAreNamed) {
  const TempDir dir;
  const std::string path = dir / "m", none = dir / "none";
  const auto sentencepiece = [&](const std::string& p) {
    Child<Tokenizer>(SentencePieceTokenizer::Config{.path = p}).build({}, kScope);
  };
  const auto llama2c = [&](const std::string& p) {
    Child<Tokenizer>(Llama2cTokenizer::Config{.path = p}).build({}, kScope);
  };
  replace_file(path, "these bytes are no model of any kind");
  EXPECT_THAT(
      [&] { sentencepiece(none); },
      ThrowsMessage<DataError>(AllOf(HasSubstr(none), HasSubstr("set input.tokenizer.path"))));
  EXPECT_THAT([&] { llama2c(none); },
              ThrowsMessage<DataError>(HasSubstr(none + ": expected a file")));
  EXPECT_THAT([&] { sentencepiece(path); },
              ThrowsMessage<DataError>(HasSubstr(path + ": expected a SentencePiece model")));
  EXPECT_THAT([&] { llama2c(path); },
              ThrowsMessage<DataError>(HasSubstr(path + ": offset 12: expected")));
  EXPECT_THAT([&] { sentencepiece(dir.path().string()); },
              ThrowsMessage<DataError>(HasSubstr("got a folder")));
}

TEST(Llama2cVocabulary, ScoresAreFinite) {
  const TempDir dir;
  const std::string path = dir / "v";
  for (const float score : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    replace_file(path, vocabulary_file({{"a", 1}, {"b", score}}));
    const auto build = [&] {
      Child<Tokenizer>(Llama2cTokenizer::Config{.path = path}).build({}, kScope);
    };
    EXPECT_EQ(error_of<DataError>(build),
              fmt::format("{}: expected finite scores, got {} for piece 260", path, score));
  }
}

// Sparse files: they have a size but no data. They must be refused without being read.
TEST(Tokenizers, FilesTooLargeForAVocabularyAreNotRead) {
  const TempDir dir;
  const std::string path = dir / "v";
  const auto code = [](const Child<Tokenizer>& config, const std::string& message) {
    const Thrown error = thrown_by([&] { config.build({}, kScope); });
    EXPECT_THAT(error.message, AnyOf("no error", HasSubstr(message)));
    return error.code;
  };
  const auto both = [&](ExitCode expected, const std::string& message) {
    EXPECT_EQ(code(Llama2cTokenizer::Config{.path = path}, message), expected);
    EXPECT_EQ(code(SentencePieceTokenizer::Config{.path = path}, message), expected);
  };
  replace_file(path, "");
  std::filesystem::resize_file(path, int64_t{1000} << 20);
  both(ExitCode::kData, path + ": expected at most 67108864 bytes, got 1048576000");
  std::filesystem::resize_file(path, int64_t{60} << 20);  // read as empty pieces
  const LittleMemory little(int64_t{256} << 20);
  both(ExitCode::kDoesNotFit, " of host memory for its pieces, got ");
}

TEST(Llama2cTokenizer, MergesTheBestPairFirstAndTheLeftmostOfEquals) {
  const TempDir dir;
  const std::string path = dir / "v";
  replace_file(
      path, vocabulary_file(
                {{" ", -9}, {"a", -9}, {"b", -9}, {"ab", -2}, {"ba", -1}, {"aa", -3}, {" a", -5}}));
  const auto tokenizer = Child<Tokenizer>(Llama2cTokenizer::Config{.path = path}).build({}, kScope);
  EXPECT_THAT(tokenizer->encode("ab"), ElementsAre(259, 262));   // "ab" beats " a"
  EXPECT_THAT(tokenizer->encode("aba"), ElementsAre(265, 263));  // "ba" first, then " a"
  EXPECT_THAT(tokenizer->encode("baaa"), ElementsAre(259, 263, 264));
  EXPECT_THAT(tokenizer->encode("\xc3\xa9"), ElementsAre(259, 3 + 0xc3, 3 + 0xa9));
  EXPECT_TRUE(tokenizer->encode("").empty());
  EXPECT_EQ(tokenizer->decode(std::vector<int32_t>{1, 265, 259, 263, 2}), "a ba");
}

}  // namespace
}  // namespace axle
