// Ids of tokens with scores against llama.cpp: tools/oracle/gguf_tokenizers.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "config/fields.h"
#include "data/tokenizers/gguf/gguf_tokenizer.h"
#include "data/tokenizers/open_tokenizer.h"
#include "io/file.h"
#include "testing/checkout.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

std::string file_of(const std::string& name) {
  return reference_file("gguf/tokenizers/" + name + ".gguf");
}

class GgufTokenizerParity : public ::testing::TestWithParam<const char*> {
 protected:
  // Expects the ids of llama.cpp for the texts that `takes` says.
  template <class Fn>
  void expect_ids(const Tokenizer& tokenizer, const Fn& takes) const {
    const auto numbers =
        nlohmann::json::parse(read_file(reference_file("gguf/tokenizers/ids.json")));
    const auto& expected = numbers.at("ids").at(GetParam());
    size_t num_taken = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      const auto text = numbers.at("texts").at(i).get<std::string>();
      if (!takes(text)) continue;
      ++num_taken;
      using Ids = std::vector<int32_t>;
      EXPECT_EQ(tokenizer.encode(text), expected[i][0].get<Ids>()) << "'" << text << "'";
      EXPECT_EQ(tokenizer.encode_with_special(text), expected[i][1].get<Ids>()) << text;
    }
    EXPECT_GT(num_taken, 20u);
  }
};

class GgufTokenizerOfPhi3 : public GgufTokenizerParity {};

TEST_P(GgufTokenizerOfPhi3, IdsMatchLlamaCpp) {
  const auto tokenizer =
      Child<Tokenizer>(GgufTokenizer::Config{.path = file_of(GetParam())}).build({}, {.path = "t"});
  expect_ids(*tokenizer, [](const std::string&) { return true; });
}

// White space beyond ASCII behind a token is taken there.
TEST_P(GgufTokenizerOfPhi3, HuggingFaceFilesGiveTheSameIds) {
  const TempDir dir;
  const auto files = gguf_tokenizer_json(file_of(GetParam()));
  ASSERT_EQ(files.size(), 2u);
  for (const auto& [name, text] : files) replace_file(std::filesystem::path(dir / name), text);
  const auto tokenizer = tokenizer_in_file(dir / "tokenizer.json", "FILE").build({}, {.path = "t"});
  expect_ids(*tokenizer, [](const std::string& text) {
    return text.find("\u00a0") == text.npos && text.find("\u3000") == text.npos;
  });
}

INSTANTIATE_TEST_SUITE_P(Files, GgufTokenizerOfPhi3, ::testing::Values("phi3", "phi3_no_prefix"),
                         [](const auto& at) { return std::string(at.param); });

class GgufTokenizerOfOthers : public GgufTokenizerParity {};

// SentencePiece takes what users defined otherwise, and so does Axle.
TEST_P(GgufTokenizerOfOthers, IdsMatchLlamaCpp) {
  const auto tokenizer =
      Child<Tokenizer>(GgufTokenizer::Config{.path = file_of(GetParam())}).build({}, {.path = "t"});
  expect_ids(*tokenizer, [](const std::string& text) {
    return std::ranges::none_of(std::to_array({"ab", "<|tool|>", "the end", "the\u2581end"}),
                                [&](const char* own) { return text.find(own) != text.npos; });
  });
}

INSTANTIATE_TEST_SUITE_P(Files, GgufTokenizerOfOthers,
                         ::testing::Values("other", "other_no_prefix"),
                         [](const auto& at) { return std::string(at.param); });

}  // namespace
}  // namespace axle
