#include <gmock/gmock.h>

#include "data/tokenizers/byte_tokenizer.h"
#include "evaluate/model/scoring_program.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int32_t kFirst = ByteTokenizer::kBoundary;

class TokenRows : public ::testing::Test {
 protected:
  ByteTokenizer tokenizer_{{.vocab_size = 260}, {}, Scope{}};
};

TEST_F(TokenRows, TrailingSpacesOfTheContextBelongToTheContinuation) {
  const ScoredRow row = RowEncoder(tokenizer_, 64).pair("ab \n", "c");
  EXPECT_THAT(row.inputs, ElementsAre('a', 'b', ' ', '\n'));
  EXPECT_THAT(row.targets, ElementsAre(' ', '\n', 'c'));
}

TEST_F(TokenRows, EmptyContextBecomesTheBeginToken) {
  for (const char* context : {"", " "}) {
    const ScoredRow row = RowEncoder(tokenizer_, 64).pair(context, "c");
    EXPECT_EQ(row.inputs[0], kFirst);
    EXPECT_EQ(row.inputs.size(), row.targets.size());
  }
}

TEST_F(TokenRows, LongContextsAreCutAtTheBeginning) {
  const RowEncoder encoder(tokenizer_, 4);
  const ScoredRow row = encoder.pair("abcdef", "gh");
  EXPECT_THAT(row.inputs, ElementsAre('d', 'e', 'f', 'g'));
  EXPECT_THAT(row.targets, ElementsAre('g', 'h'));
  EXPECT_EQ(row.num_cut, 3);
  EXPECT_EQ(encoder.pair("a", "bcde").inputs.size(), 4u);
  EXPECT_EQ(encoder.pair("a", "bcde").num_cut, 0);
  EXPECT_THAT(error_of<Error>([&] { encoder.pair("a", "bcdef"); }),
              HasSubstr("expected a continuation of at most the model's 4 tokens, got 5"));
  EXPECT_THAT(error_of<Error>([&] { encoder.pair("a", ""); }), HasSubstr("got none"));
  EXPECT_THAT(encoder.prompt("abcdef", 2).inputs, ElementsAre('e', 'f'));
  EXPECT_EQ(encoder.prompt("abcdef", 2).num_cut, 4);
  EXPECT_THAT(encoder.prompt("", 2).inputs, ElementsAre(kFirst));
  EXPECT_THAT(error_of<ConfigError>([&] { encoder.prompt("a", 4); }),
              HasSubstr("expected fewer than the model's 4 tokens, got 4"));
}

TEST_F(TokenRows, WindowsPredictEachTokenOnce) {
  const RowEncoder encoder(tokenizer_, 4);
  EXPECT_TRUE(encoder.windows("", {}).empty());
  const auto whole = encoder.windows("abcdefghij", {});
  ASSERT_EQ(whole.size(), 3u);
  EXPECT_THAT(whole[0].inputs, ElementsAre(kFirst, 'a', 'b', 'c'));
  EXPECT_THAT(whole[0].targets, ElementsAre('a', 'b', 'c', 'd'));
  EXPECT_THAT(whole[1].inputs, ElementsAre('d', 'e', 'f', 'g'));
  EXPECT_THAT(whole[2].inputs, ElementsAre('f', 'g', 'h', 'i'));
  EXPECT_THAT(whole[2].targets, ElementsAre('i', 'j'));
  for (const int64_t stride : {1, 2, 3, 4, 100}) {
    std::string predicted;
    for (const ScoredRow& row : encoder.windows("abcdefghij", stride)) {
      EXPECT_LE(row.inputs.size(), 4u);
      predicted.append(row.targets.begin(), row.targets.end());
      EXPECT_LE(std::ssize(row.targets), predicted.size() > 4 ? stride : 4);
    }
    EXPECT_EQ(predicted, "abcdefghij");
  }
}

}  // namespace
}  // namespace axle
