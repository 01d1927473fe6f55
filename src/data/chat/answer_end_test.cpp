#include "data/chat/answer_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/fields/child.h"
#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "testing/checkout.h"

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

}  // namespace
}  // namespace axle
