#include "base/text/regex.h"

#include <gmock/gmock.h>

#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;
using ::testing::StartsWith;

TEST(Regex, MatchesTheWholeText) {
  const Regex gpu("gpu-(H100|H200)-([0-9]+)");
  EXPECT_THAT(gpu.match("gpu-H200-8"), Optional(ElementsAre("gpu-H200-8", "H200", "8")));
  EXPECT_EQ(gpu.match("a gpu-H200-8"), std::nullopt);
  EXPECT_EQ(gpu.match("gpu-H200-8 b"), std::nullopt);
  EXPECT_THAT(Regex("a|ab").match("ab"), Optional(ElementsAre("ab")));
  EXPECT_THAT(Regex("").match(""), Optional(ElementsAre("")));
}

TEST(Regex, SearchesForAPart) {
  EXPECT_THAT(Regex("([0-9]+)G").search("needs 15G, has 8G"), Optional(ElementsAre("15G", "15")));
  EXPECT_EQ(Regex("[0-9]").search("none"), std::nullopt);
}

TEST(Regex, GroupsThatTakeNoPartAreEmpty) {
  EXPECT_THAT(Regex("a(b)?(c)?").match("ac"), Optional(ElementsAre("ac", "", "c")));
}

TEST(Regex, CountsItsGroups) {
  EXPECT_EQ(Regex("ab").num_groups(), 0u);
  EXPECT_EQ(Regex("(a(b))?(?:c)").num_groups(), 2u);
}

TEST(Regex, BadPatternsAreNamed) {
  EXPECT_THAT(error_of([] { Regex("("); }),
              StartsWith("expected a regular expression, got '(' (missing closing"));
  EXPECT_THAT(error_of([] { Regex(std::string(1 << 20, '(')); }),
              StartsWith("expected a regular expression, got '(((("));
}

TEST(Regex, LongTextsAndExponentialPatternsEnd) {
  EXPECT_TRUE(Regex("[ab]*").match(std::string(1 << 20, 'a')));
  // Beyond the step limit it is unknown whether the text matches.
  const std::string machine(30, 'a');
  EXPECT_EQ(error_of([&] { Regex("(a+)+[bc]").match(machine); }),
            "expected a regular expression that matches or fails within 1000000 steps, got "
            "'(a+)+[bc]' for '" +
                machine + "'; write it without nested repetitions");
  EXPECT_THAT(error_of([] { Regex("(a+)+[bc]", 10).match("aaaaaaaa"); }),
              StartsWith("expected a regular expression that matches or fails within 10 steps"));
  EXPECT_THAT(error_of([&] { Regex("(a+)+[bc]").search(machine + machine); }),
              StartsWith("expected a regular expression that "));
  error_of([] { Regex("(a|b)*").match(std::string(1 << 20, 'a')); });  // matches or throws
}

}  // namespace
}  // namespace axle
