// Hostile tokenizers with very many or very long special tokens are read, and encode texts, in
// bounded time, or are refused.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "data/tokenizers/open_tokenizer.h"
#include "data/tokenizers/tokenizer.h"
#include "io/file.h"
#include "io/proto.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

class ManyAddedTokensFault : public ::testing::Test {
 protected:
  std::unique_ptr<Tokenizer> opened(const std::string& path) {
    return tokenizer_in_file(path, "path").build({}, {});
  }
  // Opens a tokenizer.json of the letters, with these added tokens.
  std::unique_ptr<Tokenizer> with_added(const Json& tokens, const Json& model = letters()) {
    const std::string path = dir_ / "tokenizer.json";
    replace_file(path, Json{{"added_tokens", tokens}, {"model", model}}.dump());
    return opened(path);
  }
  static Json letters() {
    return {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}, {" ", 2}}}, {"merges", Json::array()}};
  }
  static Json added(const std::string& text, size_t id) {
    return {{"id", id}, {"content", text}, {"special", true}};
  }

  // Writes a SentencePiece model of the letter a with this many control pieces; all have names.
  std::string model_with_controls(int num_controls) {
    constexpr uint64_t kNormal = 1, kUnknown = 2, kControl = 3;
    ProtoWriter model;
    const auto add = [&](const std::string& text, uint64_t type) {
      model.message(1, ProtoWriter().bytes(1, text).fixed32(2, -1.0f).varint(3, type));
    };
    add("<unk>", kUnknown);
    add("a", kNormal);
    for (int i = 0; i < num_controls; ++i) add(fmt::format("<control {}>", i), kControl);
    const std::string path = dir_ / "tokenizer.model";
    replace_file(path, model.text());
    return path;
  }
  TempDir dir_;
};

TEST_F(ManyAddedTokensFault, TokensAreFoundByIdAndText) {
  constexpr size_t kCount = 250'000;
  Json tokens = Json::array();
  for (size_t i = 0; i < kCount; ++i) tokens.push_back(added(fmt::format("<{}>", i), 3 + i));
  const auto tokenizer = with_added(tokens);
  for (const size_t i : {size_t{0}, size_t{77'777}, kCount - 1}) {
    EXPECT_EQ(tokenizer->token(static_cast<int32_t>(3 + i)), fmt::format("<{}>", i));
    EXPECT_THAT(tokenizer->encode_with_special(fmt::format("a<{}>", i)),
                ::testing::ElementsAre(0, 3 + i));
  }
  EXPECT_TRUE(SpecialNames(*tokenizer).stand_in("b <249999>"));
}

TEST_F(ManyAddedTokensFault, ControlPiecesOfASentencePieceModel) {
  constexpr int kCount = 250'000;
  const auto tokenizer = opened(model_with_controls(kCount));
  EXPECT_EQ(tokenizer->token(2 + 77'777), "<control 77777>");
  EXPECT_TRUE(SpecialNames(*tokenizer).stand_in("a <control 249999>"));
  EXPECT_EQ(std::ssize(tokenizer->added_ids()), kCount);
}

TEST_F(ManyAddedTokensFault, AdjacentFilesMayNameManyTokens) {
  constexpr int kCount = 60'000;
  const std::string path = model_with_controls(1);
  Json names = Json::array();
  std::string ids;
  for (int i = 0; i < kCount; ++i) {
    names.push_back(fmt::format("<name {}>", i));
    ids += fmt::format("{}\"<name {}>\": {}", i > 0 ? ", " : "", i, 3 + i);
  }
  replace_file(dir_ / "special_tokens_map.json", Json{{"additional_special_tokens", names}}.dump());
  const auto expect_names = [&] {
    const auto tokenizer = opened(path);
    EXPECT_EQ(tokenizer->vocab_size(), 3 + kCount);
    EXPECT_THAT(tokenizer->encode_with_special("<name 59999>").back(), 3 + 59'999);
    EXPECT_EQ(tokenizer->piece(3 + 59'999), "");  // a special one
  };
  expect_names();
  replace_file(dir_ / "added_tokens.json", "{" + ids + "}");
  expect_names();
}

TEST_F(ManyAddedTokensFault, LongTokens) {
  const auto almost = [](size_t size) { return std::string(size - 1, 'a') + "b"; };
  const std::string text = std::string(400'000, 'a') + " " + almost(1024);
  const auto tokenizer = with_added(Json::array({added(almost(1024), 3)}));
  const std::vector<int32_t> ids = tokenizer->encode_with_special(text);
  EXPECT_EQ(std::ssize(ids), 400'002);
  EXPECT_EQ(ids.back(), 3);
  const auto error = [](const auto& open) { return error_of<DataError>(open); };
  EXPECT_THAT(error([&] { with_added(Json::array({added(almost(50'000), 3)})); }),
              HasSubstr("tokenizer.json: expected added tokens of at most 1024 bytes, got 50000 "
                        "for 'aaaa"));
  // A model looks for its longest tokens, too.
  const Json rows = Json::array({Json::array({"a", -1}), Json::array({almost(50'000), -2})});
  for (const Json& model : {Json{{"type", "Unigram"}, {"unk_id", 0}, {"vocab", rows}},
                            Json{{"type", "WordPiece"},
                                 {"unk_token", "a"},
                                 {"max_input_chars_per_word", 1 << 30},
                                 {"vocab", {{"a", 0}, {almost(50'000), 1}}}}}) {
    EXPECT_THAT(error([&] { with_added(Json::array(), model); }),
                HasSubstr("vocab: expected tokens of at most 1024 bytes, got 50000 for 'aaaa"));
  }
  const std::string path = model_with_controls(0);
  replace_file(
      path,
      read_file(path) +
          ProtoWriter()
              .message(1, ProtoWriter().bytes(1, almost(50'000)).fixed32(2, -1.0f).varint(3, 4))
              .text());
  EXPECT_THAT(error([&] { opened(path); }), HasSubstr("got 50000 bytes for piece 2"));
}

// The normalized form is what is found.
TEST_F(ManyAddedTokensFault, LongNormalizedTokens) {
  Json token = added(std::string(600, 'a'), 3);
  token["normalized"] = true;
  const std::string path = dir_ / "tokenizer.json";
  const Json twice = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}};
  replace_file(
      path,
      Json{{"added_tokens", Json::array({token})}, {"normalizer", twice}, {"model", letters()}}
          .dump());
  EXPECT_THAT(error_of<DataError>([&] { opened(path); }),
              HasSubstr("expected added tokens of at most 1024 bytes, got 1200 for 'aaaa"));
}

// Each token takes the white space to both sides, which is looked at once.
TEST_F(ManyAddedTokensFault, SpaceTokensThatStripBothSidesTakeLinearTime) {
  Json token = added(" ", 2);
  token["lstrip"] = token["rstrip"] = true;
  constexpr int64_t kCount = 1 << 20;
  const std::vector<int32_t> ids =
      with_added(Json::array({token}))->encode_with_special("a" + std::string(kCount, ' ') + "b");
  EXPECT_EQ(std::ssize(ids), kCount + 2);
  EXPECT_EQ(ids.back(), 1);
}

}  // namespace
}  // namespace axle
