#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/text/json.h"
#include "config/fields.h"
#include "data/chat/answer_spans.h"
#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "io/file.h"
#include "testing/checkout.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(AnswerEnd, IsASpecialTokenOfTheTemplate) {
  const auto tokenizer = Child<Tokenizer>(HuggingFaceTokenizer::Config{
                                              .path = reference_file("tokenizers/smollm.json")})
                             .build({}, {});
  const ChatTemplate marks("{% for m in messages %}{{ m.content }}<|end|>\n{% endfor %}", "t");
  const AnswerEnd end = answer_end(marks, *tokenizer);
  ASSERT_EQ(end.tokens.size(), 1u);
  EXPECT_EQ(tokenizer->token(end.tokens[0]), "<|end|>");
  EXPECT_THAT(end.texts, IsEmpty());
  const ChatTemplate spelled("{% for m in messages %}{{ m.content }}<none> {% endfor %}", "t");
  EXPECT_THAT(answer_end(spelled, *tokenizer).texts, ElementsAre("<none>"));
  const ChatTemplate refuses("{{ raise_exception('no') }}", "t");
  EXPECT_THAT(answer_end(refuses, *tokenizer).tokens, IsEmpty());
  const ChatTemplate plain("{% for m in messages %}{{ m.content }}\n{% endfor %}", "t");
  EXPECT_THAT(answer_end(plain, *tokenizer).texts, IsEmpty());
}

// Added tokens need not be special.
TEST(AnswerEnd, IsAnAddedTokenOfTheTemplate) {
  const TempDir dir;
  auto json = read_json(read_file(reference_file("tokenizers/smollm.json")));
  for (auto& token : json["added_tokens"]) token["special"] = false;
  json["added_tokens"].push_back({{"id", 360}, {"content", "User"}, {"special", false}});
  replace_file(dir / "tokenizer.json", json.dump());
  const auto tokenizer =
      Child<Tokenizer>(HuggingFaceTokenizer::Config{.path = dir / "tokenizer.json"}).build({}, {});
  const auto end_of = [&](const std::string& tail) {
    return answer_end(
        ChatTemplate("{% for m in messages %}{{ m.content }}" + tail + "{% endfor %}", "t"),
        *tokenizer);
  };
  for (const char* tail : {"<|end|>", "<|end|>\n", "\n<|end|> next", "<|end|><|begin|>"}) {
    EXPECT_THAT(end_of(tail).tokens, ElementsAre(1)) << tail;
    EXPECT_THAT(end_of(tail).texts, IsEmpty()) << tail;
  }
  // Answers may have the word.
  EXPECT_THAT(end_of("\nUser:").tokens, IsEmpty());
  EXPECT_THAT(end_of("\nUser:").texts, ElementsAre("User:"));
}

}  // namespace
}  // namespace axle
