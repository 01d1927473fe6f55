#include <gtest/gtest.h>

#include "base/text/json.h"
#include "data/chat/chat_template.h"
#include "testing/error_of.h"

namespace axle {
namespace {

TEST(Conversation, BecomesValuesOfTemplates) {
  const Conversation read = conversation_of(
      R"({"messages":[{"role":"user","content":"a"},{"role":"tool","content":[]}],"tools":[1]})");
  ASSERT_EQ(read.messages.size(), 2u);
  EXPECT_EQ(role_of(read.messages[1]), "tool");
  EXPECT_EQ(content_of(read.messages[0]), "a");
  EXPECT_EQ(content_of(read.messages[1]), "");
  EXPECT_TRUE(read.tools.is_list());
  const Conversation varied =
      conversation_of(R"({"messages":[],"chat_template_kwargs":{"think":false}})");
  ASSERT_EQ(varied.variables.size(), 1u);
  EXPECT_EQ(varied.variables[0].first, "think");
  EXPECT_TRUE(conversation_of(R"({"messages":[]})").tools.is_none());
  EXPECT_EQ(error_of<JsonError>([] { conversation_of(R"({"messages":[18446744073709551615]})"); }),
            "expected integers of 64 bits, got 18446744073709551615");
}

}  // namespace
}  // namespace axle
