#include <gmock/gmock.h>

#include "data/chat/jinja/builtins.h"
#include "data/chat/jinja/lexer.h"
#include "data/chat/jinja/template.h"
#include "testing/error_of.h"

namespace axle::jinja {
namespace {

std::string shown(std::string_view text) {
  const auto value = literal_value(text);
  if (!value) return "no literal";
  Interpreter machine(Limits{});
  return repr(machine, *value);
}

TEST(Literal, IsAValueOfPython) {
  EXPECT_EQ(shown("['a', \"it's\", 'x\\n']"), "['a', \"it's\", 'x\\n']");
  EXPECT_EQ(shown("[1, -2, 0.5, True, None, ('a',)]"), "[1, -2, 0.5, True, None, ('a',)]");
  EXPECT_EQ(shown("{'a': [1]}"), "{'a': [1]}");
  EXPECT_EQ(shown("  7 "), "7");
}

TEST(Literal, OtherExpressionsAreRefused) {
  for (const char* text : {"", "a", "[a]", "1 + 1", "['a'|upper]", "range(3)", "['a'", "}} {{",
                           "'a' }}{{ 'b'", "-'a'", "not 1"})
    EXPECT_EQ(shown(text), "no literal") << text;
}

std::string rendered(const std::string& source, const Dialect& dialect) {
  return Template(source, "t", dialect).render({{"x", Value("1")}}).text;
}

TEST(Dialect, KeepsWhiteSpaceAroundBlocks) {
  const std::string source = "a\n  {% if x %}\n b{{ x }}\n  {% endif %}\nc\n";
  EXPECT_EQ(rendered(source, kChatDialect), "a\n b1\nc");
  EXPECT_EQ(rendered(source, {.trims_blocks = false, .keeps_last_line_end = true}),
            "a\n  \n b1\n  \nc\n");
}

TEST(Dialect, StrictRefusesUndefinedNames) {
  constexpr Dialect kStrict{.is_strict = true};
  for (const char* source : {"{{ y }}", "{% if y %}{% endif %}", "{% for i in y %}{% endfor %}",
                             "{{ not y }}", "{{ 1 if y }}", "{{ y or 1 }}", "{{ x ~ y }}"}) {
    EXPECT_THAT(error_of<Error>([&] { rendered(source, kStrict); }),
                ::testing::HasSubstr("t:1: 'y' is undefined"))
        << source;
    EXPECT_NO_THROW(rendered(source, kChatDialect)) << source;
  }
  EXPECT_EQ(rendered("{{ y is defined }}{{ y|default('z') }}", kStrict), "Falsez");
}

}  // namespace
}  // namespace axle::jinja
