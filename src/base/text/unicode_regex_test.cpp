#include <gmock/gmock.h>

#include <vector>

#include "base/error.h"
#include "base/text/regex.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> found(std::string_view pattern, std::string_view text,
                               RegexSyntax syntax = RegexSyntax::kOniguruma) {
  const UnicodeRegex regex(pattern, syntax);
  UnicodeRegex::Finder finder(regex, text);
  std::vector<std::string> out;
  while (const auto match = finder.next())
    out.emplace_back(text.substr(match->begin, match->end - match->begin));
  return out;
}

TEST(UnicodeRegex, ClassesFollowUnicode) {
  EXPECT_THAT(found(R"(\p{L}+)", "a\xc3\xa9 \xe7\x8c\xab!"),
              ElementsAre("a\xc3\xa9", "\xe7\x8c\xab"));
  // U+0085 and U+3000 are white space; U+180E and U+200B are not.
  EXPECT_THAT(found(R"(\s)", "\xc2\x85|\xe3\x80\x80|\xe1\xa0\x8e|\xe2\x80\x8b"),
              ElementsAre("\xc2\x85", "\xe3\x80\x80"));
  EXPECT_THAT(found(R"([^\s|]+)", "\xc2\x85|\xe1\xa0\x8e"), ElementsAre("\xe1\xa0\x8e"));
  EXPECT_THAT(found(R"(\w+)", "e\xcc\x81_1-"), ElementsAre("e\xcc\x81_1"));
  EXPECT_THAT(found(R"(\w+)",
                    "a\xe2\x80\x8d"
                    "b"),
              ElementsAre("a", "b"));
  EXPECT_THAT(found(R"(\w+)",
                    "a\xe2\x80\x8d"
                    "b",
                    RegexSyntax::kRust)
                  .size(),
              1u);
  EXPECT_THAT(found(R"([\w-]+)", "a-b c"), ElementsAre("a-b", "c"));
  EXPECT_THAT(found(R"(\W)", "a b"), ElementsAre(" "));
  EXPECT_THAT(found(R"(\s+(?!\S)|\s+)", "a   b"), ElementsAre("  ", " "));
}

TEST(UnicodeRegex, TheSyntaxOfOniguruma) {
  EXPECT_THAT(found(R"(\h+)", "0fG"), ElementsAre("0f"));
  EXPECT_THAT(found("^a", "a\na"), ElementsAre("a", "a"));
  EXPECT_THAT(found("^a", "a\na", RegexSyntax::kRust), ElementsAre("a"));
  EXPECT_THAT(found("a$", "a\na\n", RegexSyntax::kRust), ElementsAre());
  EXPECT_THAT(found(R"([\p{L}&&[^a-c]]+)", "abxyc"), ElementsAre("xy"));
  EXPECT_THAT(found(R"([]a]+)", "a]b"), ElementsAre("a]"));
  EXPECT_THAT(found(R"([[:digit:]x]+)", "1xy"), ElementsAre("1x"));
  EXPECT_THAT(found(R"(\u732b)", "\xe7\x8c\xab"), ElementsAre("\xe7\x8c\xab"));
}

TEST(UnicodeRegex, FollowsPythonSyntaxOnRequest) {
  const auto python = [](const char* pattern, const char* text) {
    return found(pattern, text, RegexSyntax::kPython);
  };
  EXPECT_THAT(python("a$", "a\n"), ElementsAre("a"));
  EXPECT_THAT(python(R"(a\Z)", "a\n"), ElementsAre());
  EXPECT_THAT(python(R"([\w]+)", "\xc3\xa9_1-x"), ElementsAre("\xc3\xa9_1", "x"));
  EXPECT_THAT(python(R"([[a]+)", "[a"), ElementsAre("[a"));
  EXPECT_THAT(python(R"((?P<n>a)(?P=n))", "aa"), ElementsAre("aa"));
}

TEST(UnicodeRegex, GroupsBelongToTheLastMatch) {
  const UnicodeRegex regex("(a)|(b)(c)?", RegexSyntax::kPython);
  UnicodeRegex::Finder finder(regex, "abc");
  ASSERT_TRUE(finder.next());
  EXPECT_THAT(finder.groups(), ElementsAre("a", "", ""));
  ASSERT_TRUE(finder.next());
  EXPECT_THAT(finder.groups(), ElementsAre("", "b", "c"));
}

TEST(UnicodeRegex, EmptyMatchesDoNotTouchTheMatchBefore) {
  EXPECT_THAT(found("a*", "aab"), ElementsAre("aa", ""));
  EXPECT_THAT(found("", "\xc3\xa9"), ElementsAre("", ""));
}

TEST(UnicodeRegex, InvalidPatternsAreErrors) {
  for (const char* pattern : {"(", "[a", "[a[b]]", R"([\W])", "[[:alpha", "\xff", "[a&&b]"}) {
    EXPECT_THAT(error_of([&] { found(pattern, ""); }), HasSubstr("expected a regular expression"))
        << pattern;
  }
}

TEST(UnicodeRegex, TimeAndMemoryAreBounded) {
  const std::string text(3000, 'a');
  EXPECT_THAT(error_of<DataError>([&] { found("(a|aa)+[^a]", text); }),
              HasSubstr("expected a pattern that matches or fails within"));
  const std::string spaces(1 << 20, ' ');
  EXPECT_THAT(found(R"(\s+(?!\S)|\s+)", spaces), ElementsAre(spaces));
}

}  // namespace
}  // namespace axle
