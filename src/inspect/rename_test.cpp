#include "inspect/rename.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace axle {
namespace {

std::string error_of(const std::string& text) {
  try {
    RenameRules(text, "names.txt");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Rename, FirstLineThatFitsTheWholePath) {
  const RenameRules rules(
      "# comment\n"
      "i_proj/(q|k)_proj/(*) -> qkv/$1_proj/$2  # behind a line\n"
      "\n"
      "i_proj/* -> rest\n"
      "a.b -> dot\n",
      "names.txt");
  EXPECT_EQ(rules.apply("i_proj/q_proj/weight"), "qkv/q_proj/weight");
  EXPECT_EQ(rules.apply("i_proj/v_proj"), "rest");
  EXPECT_EQ(rules.apply("i_proj/v_proj/weight"), std::nullopt);  // "*" stops at "/"
  EXPECT_EQ(rules.apply("x/i_proj/v"), std::nullopt);
  EXPECT_EQ(rules.apply("a.b"), "dot");
  EXPECT_EQ(rules.apply("axb"), std::nullopt);
}

TEST(Rename, Require) {
  EXPECT_EQ(RenameRules().require("as/it/is"), "as/it/is");
  const RenameRules rules("a -> b\n", "names.txt");
  EXPECT_EQ(rules.require("a"), "b");
  try {
    rules.require("c");
    FAIL() << "expected an error";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "names.txt: expected a line that fits 'c', got none");
  }
}

TEST(Rename, Mistakes) {
  EXPECT_EQ(error_of("a -> b\nweight\n"), "names.txt:2: expected 'theirs -> ours', got 'weight'");
  EXPECT_EQ(error_of(" -> b\n"), "names.txt:1: expected 'theirs -> ours', got '-> b'");
  EXPECT_EQ(error_of("(a -> b\n"), "names.txt:1: expected balanced parentheses, got '(a'");
}

}  // namespace
}  // namespace axle
