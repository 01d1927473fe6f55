// SentencePiece models with the files of Hugging Face beside them against transformers
// (tools/oracle/sentencepiece_folders.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "data/tokenizers/open_tokenizer.h"
#include "data/tokenizers/reference_texts_test.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Tokenizer> opened(const std::filesystem::path& folder) {
  return tokenizer_in_file((folder / "tokenizer.model").string(), "path").build({}, {});
}
std::filesystem::path reference_folder(const std::string& name) {
  return reference_file("tokenizers/pieces_" + name);
}

class AddedPiecesFolders : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Kinds, AddedPiecesFolders, ::testing::Values("old", "legacy", "single"));

TEST_P(AddedPiecesFolders, IdsMatchTransformers) {
  const auto all = read_json(read_file(reference_file("tokenizers/pieces.json")));
  const auto& expected = all.at("folders").at(GetParam());
  const auto tokenizer = opened(reference_folder(GetParam()));
  for (size_t i = 0; i < all.at("texts").size(); ++i) {
    const std::string text = all["texts"][i];
    EXPECT_EQ(tokenizer->encode_with_special(text),
              expected.at("with_special")[i].get<std::vector<int32_t>>())
        << text;
  }
  const ReferenceTexts reference;
  ReferenceRandom random(7);
  ReferenceDigest ids;
  for (int i = 0; i < all.at("num_random"); ++i)
    ids.add(tokenizer->encode_with_special(reference.random_text(random)));
  EXPECT_EQ(ids.hex(), expected.at("random"));
  EXPECT_EQ(tokenizer->framed(tokenizer->encode("Hi")),
            expected.at("framed").get<std::vector<int32_t>>());
  const auto id = [&](const char* name) {
    const auto& json = expected.at(name);
    return json.is_null() ? std::nullopt : std::optional<int32_t>(json.get<int32_t>());
  };
  EXPECT_EQ(tokenizer->special_ids().bos, id("bos"));
  EXPECT_EQ(tokenizer->special_ids().eos, id("eos"));
  EXPECT_EQ(tokenizer->special_ids().pad, id("pad"));
  EXPECT_EQ(tokenizer->vocab_size(), expected.at("vocab_size"));
  const std::vector<int32_t> found = tokenizer->added_ids();
  for (const int32_t added : expected.at("added"))
    EXPECT_EQ(std::ranges::count(found, added), 1) << added;
}

TEST(AddedPieces, EncodePlainTextWithoutSpecialTokens) {
  const auto tokenizer = opened(reference_folder("legacy"));
  const std::vector<int32_t> ids = tokenizer->encode("<|im_start|>a<tool>");
  EXPECT_EQ(std::ranges::count(ids, 600), 0);
  EXPECT_EQ(ids.back(), 601);  // not a special one
  EXPECT_EQ(tokenizer->decode(ids), "<|im_start|>a<tool>");
  EXPECT_EQ(tokenizer->token(600), "<|im_start|>");
  EXPECT_EQ(tokenizer->token(3), "[INST]");
  EXPECT_EQ(tokenizer->piece(600), "");
  EXPECT_THAT(tokenizer->chat_settings().chat_template, HasSubstr("<|im_end|>"));
}

// As with a folder whose files name just these.
TEST(AddedPieces, ControlPiecesAreSpecialTokensInABareModel) {
  const TempDir dir;
  std::filesystem::copy_file(reference_folder("legacy") / "tokenizer.model",
                             dir.path() / "tokenizer.model");
  const auto bare = opened(dir.path());
  const std::vector<int32_t> added = bare->added_ids();
  EXPECT_EQ(std::ranges::count(added, 1), 1);
  EXPECT_EQ(std::ranges::count(added, 2), 1);
  const std::vector<int32_t> ids = bare->encode_with_special("<s>ba</s>");
  EXPECT_EQ(ids.front(), 1);
  EXPECT_EQ(ids.back(), 2);
  EXPECT_EQ(bare->token(2), "</s>");
  EXPECT_EQ(std::ranges::count(bare->encode("<s>ba</s>"), 2), 0);
  const std::vector<int32_t> text = bare->encode("<s>ba</s>");
  EXPECT_EQ(bare->decode(text), "<s>ba</s>");
}

TEST(AddedPieces, ChangeTheFingerprint) {
  const TempDir dir;
  const auto folder = reference_folder("legacy");
  std::filesystem::copy_file(folder / "tokenizer.model", dir.path() / "tokenizer.model");
  const uint64_t bare = opened(dir.path())->fingerprint();
  replace_file(dir.path() / "tokenizer_config.json", R"({"bos_token": "<s>"})");
  EXPECT_EQ(opened(dir.path())->fingerprint(), bare);  // texts have the same ids
  EXPECT_NE(opened(folder)->fingerprint(), bare);
  EXPECT_NE(opened(folder)->fingerprint(), opened(reference_folder("single"))->fingerprint());
}

// The error for files beside the model.
std::string problem_with(const std::string& name, const std::string& content) {
  const TempDir dir;
  std::filesystem::copy_file(reference_folder("legacy") / "tokenizer.model",
                             dir.path() / "tokenizer.model");
  replace_file(dir.path() / name, content);
  try {
    opened(dir.path());
  } catch (const DataError& error) {
    return error.what();
  }
  return "none";
}

TEST(AddedPieces, DamagedFilesAreRefused) {
  EXPECT_THAT(problem_with("added_tokens.json", R"({"<a>": -1})"),
              HasSubstr("added_tokens.json: ['<a>']: expected an integer of 0 to"));
  EXPECT_THAT(problem_with("added_tokens.json", R"({"<a>": 700, "<b>": 700})"),
              HasSubstr("expected one token for each id and text, got more for 700 '<b>'"));
  EXPECT_THAT(problem_with("tokenizer_config.json",
                           R"({"added_tokens_decoder": {"x": {"content": "<a>"}}})"),
              HasSubstr("expected an id of 0 to"));
  EXPECT_THAT(
      problem_with("added_tokens.json", R"({"<a>": 99999})"),
      HasSubstr("tokenizer.model: expected ids below 66136 in the files beside it, got 99999 "
                "for '<a>'"));
  EXPECT_THAT(problem_with("special_tokens_map.json", "{"), HasSubstr("special_tokens_map.json"));
  EXPECT_THAT(problem_with("tokenizer_config.json", R"({"legacy": 1})"),
              HasSubstr("legacy: expected true or false"));
}

}  // namespace
}  // namespace axle
