#include "comparison/rename.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "testing/error_of.h"

namespace axle {
namespace {

std::string error_of_rules(const std::string& text) {
  return error_of([&] { RenameRules(text, "names.txt"); });
}

TEST(Rename, FirstLineThatFitsTheWholePath) {
  const RenameRules rules(
      "# comment\n"
      "i_proj/(q|k)_proj/(*) -> qkv/$1_proj/$2  # behind a line\n"
      "\n"
      "i_proj/* -> rest\n"
      "a.b -> dot\n"
      "deep/(**)/linear(1|2)/(*) -> $1/body/linear$2/$3\n",
      "names.txt");
  EXPECT_EQ(rules.parameter("i_proj/q_proj/weight"), "qkv/q_proj/weight");
  EXPECT_EQ(rules.parameter("i_proj/v_proj"), "rest");
  EXPECT_EQ(rules.parameter("a.b"), "dot");
  EXPECT_EQ(rules.parameter("deep/a/b/linear2/weight"), "a/b/body/linear2/weight");
  EXPECT_EQ(rules.parameter("deep/linear1/bias"), "body/linear1/bias");  // "**/" may match nothing
  for (const char* name : {"i_proj/v_proj/weight",                       // "*" stops at "/"
                           "x/i_proj/v", "axb", "deep/a/b/linear3/weight", "deep/xlinear1/bias"}) {
    EXPECT_EQ(
        error_of([&] { rules.parameter(name); }),
        fmt::format(
            "names.txt: expected a line that matches '{0}', got none; '{0} -> none' leaves it out",
            name));
  }
}

TEST(Rename, SectionsOfFiles) {
  const RenameRules rules(
      "(**)/kernel   -> $1/weight\n"
      "**/rotary     -> none\n"
      "in/query      -> in/x\n"
      "in/mask       -> none\n"
      "out           -> out/loss\n"
      "weights/(**)  -> init/$1\n"
      "their_loss    -> loss\n",
      "names.txt");
  const std::vector<std::pair<std::string, std::optional<std::string>>> expected = {
      {"params/a/kernel", "params/a/weight"},
      {"grad/params/a/kernel", "grad/params/a/weight"},
      {"init_params/kernel", "init_params/weight"},
      {"final/a/kernel", "final/a/weight"},
      {"param/19/a/kernel", "param/19/a/weight"},
      {"grad/0/a/kernel", "grad/0/a/weight"},
      {"weights/a/kernel", "init/a/weight"},  // renames the section, then the path
      {"params/a/rotary", std::nullopt},
      {"in/query", "in/x"},
      {"grad/in/query", "grad/in/x"},
      {"in/mask", std::nullopt},
      {"in/kernel", "in/kernel"},  // rules for parameters do not apply to inputs
      {"state/kernel", "state/kernel"},
      {"out", "out/loss"},
      {"their_loss", "loss"}};
  for (const auto& [theirs, ours] : expected) EXPECT_EQ(rules.tensor(theirs), ours) << theirs;
}

TEST(Rename, ParametersKeepTheirPathsWithoutRules) {
  EXPECT_EQ(RenameRules().parameter("as/it/is"), "as/it/is");
  const RenameRules inputs("in/query -> in/x\nold -> none\n", "names.txt");
  EXPECT_EQ(inputs.parameter("as/it/is"), "as/it/is");
  EXPECT_EQ(inputs.parameter("old"), std::nullopt);
}

TEST(Rename, Mistakes) {
  EXPECT_EQ(error_of_rules("a -> b\nweight\n"),
            "names.txt:2: expected 'theirs -> ours', got 'weight'");
  EXPECT_EQ(error_of_rules(" -> b\n"), "names.txt:1: expected 'theirs -> ours', got '-> b'");
  EXPECT_EQ(error_of_rules("(a -> b\n"), "names.txt:1: expected balanced parentheses, got '(a'");
  EXPECT_EQ(error_of_rules("(a) -> $2\n"),
            "names.txt:1: expected $1 to $1, the groups of '(a)', got $2");
}

// A pattern that backtracks almost without end is an error of its author, not a hang or a crash.
TEST(Rename, LongNamesAndSlowPatterns) {
  const std::string long_name(1 << 20, 'a');
  EXPECT_EQ(RenameRules("(**)b -> c\n(**) -> $1\n", "names.txt").parameter(long_name), long_name);
  const RenameRules slow("**a**a**a**a**a**a**b -> c\n", "names.txt");
  EXPECT_THAT(error_of([&] { slow.parameter('b' + std::string(500, 'a')); }),
              ::testing::HasSubstr("expected a pattern that matches quickly"));
}

}  // namespace
}  // namespace axle
