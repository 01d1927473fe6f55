#include "data/tokenizers/ranks/ranks_tokenizer.h"

#include <gmock/gmock.h>

#include "config/fields.h"
#include "data/tokenizers/ranks/ranks_files_test.h"
#include "io/file.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RanksTokenizerTest : public ::testing::Test {
 protected:
  std::unique_ptr<Tokenizer> ranks(const std::string& bytes,
                                   RanksFamily family = RanksFamily::kLlama3) {
    replace_file(path_, bytes);
    return Child<Tokenizer>(RanksTokenizer::Config{.path = path_, .family = family})
        .build({}, {.path = "t"});
  }
  std::unique_ptr<Tokenizer> tekken(const nlohmann::ordered_json& json) {
    replace_file(path_, json.dump());
    return Child<Tokenizer>(TekkenTokenizer::Config{.path = path_}).build({}, {.path = "t"});
  }
  std::string ranks_error(const std::string& bytes, RanksFamily family = RanksFamily::kLlama3) {
    return error_of<DataError>([&] { ranks(bytes, family); });
  }
  TempDir dir_;
  std::string path_ = dir_ / "m";
};

TEST_F(RanksTokenizerTest, TheLowestRankIsMergedFirst) {
  const auto tokenizer = ranks(ranks_file());
  EXPECT_EQ(tokenizer->vocab_size(), 262 + 256);
  EXPECT_THAT(tokenizer->encode("the"), ElementsAre(258));        // a token as a whole
  EXPECT_THAT(tokenizer->encode("thex"), ElementsAre(258, 'x'));  // "he", then "t" and "he"
  EXPECT_THAT(tokenizer->encode("a the"), ElementsAre('a', 260));
  EXPECT_EQ(tokenizer->decode(std::vector<int32_t>{258, 262, 260, 0xe2, 0x82, 'a'}),
            "the the\xef\xbf\xbd"
            "a");
}

TEST_F(RanksTokenizerTest, SpecialTokensFollowTheFamily) {
  auto tokenizer = ranks(ranks_file());
  EXPECT_EQ(tokenizer->special_ids().bos, 262);
  EXPECT_EQ(tokenizer->special_ids().eos, 263);
  EXPECT_EQ(tokenizer->special_ids().pad, 266);
  EXPECT_EQ(tokenizer->token(271), "<|eot_id|>");
  EXPECT_EQ(tokenizer->token(262 + 255), "<|reserved_special_token_245|>");
  EXPECT_THAT(tokenizer->encode_with_special("the<|eot_id|>"), ElementsAre(258, 271));
  EXPECT_EQ(tokenizer->encode("<|eot_id|>").size(), 10u);
  EXPECT_THAT(tokenizer->framed({1}), ElementsAre(262, 1));
  tokenizer = ranks(ranks_file(), RanksFamily::kCl100k);
  EXPECT_EQ(tokenizer->vocab_size(), 262 + 21);
  EXPECT_EQ(tokenizer->special_ids().eos, 263);
  EXPECT_EQ(tokenizer->special_ids().bos, std::nullopt);
  EXPECT_EQ(ranks(ranks_file(), RanksFamily::kLlama4)->vocab_size(), 262 + 2048);
  EXPECT_EQ(ranks(ranks_file(), RanksFamily::kQwen)->token(262 + 207), "<|extra_204|>");
}

TEST_F(RanksTokenizerTest, MistakesAreNamedWithTheirLine) {
  EXPECT_EQ(ranks_error("AA== 0\nAQ== x\n"),
            path_ + ":2: expected a token in base 64 and its rank, got 'AQ== x'");
  EXPECT_EQ(ranks_error("AA== 0\nAQ= 1\n"),
            path_ + ":2: expected a token in base 64 and its rank, got 'AQ= 1'");
  EXPECT_EQ(ranks_error("AA== 0\nAQ== 0\n"), path_ + ":2: expected every rank once, got 'AQ== 0'");
  EXPECT_EQ(ranks_error("AA== 0\nAA== 1\n"), path_ + ":2: expected every token once, got 'AA== 1'");
  EXPECT_EQ(ranks_error("AA== 0\nAQ== 1\n"),
            path_ + ": expected a token for every byte, got none for 0x02");
  EXPECT_THAT(
      ranks_error(ranks_file(), RanksFamily::kAuto),
      HasSubstr("expected the number of ranks of a known family (gpt2 50256, p50k 50280, "));
  EXPECT_THAT(ranks_error(ranks_file(), RanksFamily::kAuto), HasSubstr("got 262; set t.family"));
  EXPECT_THAT(ranks_error(ranks_file() + base64_of(std::string(2000, 'a')) + " 262\n"),
              HasSubstr("expected tokens of at most 1024 bytes, got 2000 for token 262"));
}

TEST_F(RanksTokenizerTest, TekkenPutsSpecialTokensFirst) {
  nlohmann::ordered_json json = tekken_file();
  auto tokenizer = tekken(json);
  EXPECT_EQ(tokenizer->vocab_size(), 285);
  EXPECT_THAT(tokenizer->encode("the 12"), ElementsAre(24 + 258, 24 + ' ', 24 + '1', 24 + '2'));
  EXPECT_THAT(tokenizer->encode_with_special("[INST]the"), ElementsAre(3, 24 + 258));
  EXPECT_EQ(tokenizer->token(23), "<SPECIAL_23>");
  EXPECT_EQ(tokenizer->special_ids().bos, 1);
  EXPECT_EQ(tokenizer->special_ids().eos, 2);
  EXPECT_EQ(tokenizer->special_ids().pad, 11);
  json["special_tokens"] = {{{"rank", 0}, {"token_str", "<s>"}, {"is_control", true}}};
  tokenizer = tekken(json);
  EXPECT_EQ(tokenizer->special_ids().bos, 0);
  EXPECT_EQ(tokenizer->special_ids().eos, std::nullopt);
  EXPECT_EQ(tokenizer->token(3), "<SPECIAL_3>");
  json["config"]["default_vocab_size"] = 300;
  EXPECT_THAT(error_of<DataError>([&] { tekken(json); }),
              HasSubstr("vocab: expected at least 276 tokens, got a list of 262"));
}

}  // namespace
}  // namespace axle
