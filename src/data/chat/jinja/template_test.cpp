#include "data/chat/jinja/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/error_of.h"

namespace axle::jinja {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string rendered(std::string_view source, const Variables& variables = {}) {
  return Template(source, "chat").render(variables).text;
}
std::string error(std::string_view source, const Limits& limits = {}) {
  return error_of<DataError>([&] { Template(source, "chat").render({}, limits); });
}

TEST(Template, RendersTextAndValuesInOrder) {
  EXPECT_EQ(rendered("a{{ x }}b{% if y %}c{% endif %}", {{"x", 1}, {"y", true}}), "a1bc");
  EXPECT_EQ(rendered(""), "");
  EXPECT_EQ(rendered("no tags { % } # at all"), "no tags { % } # at all");
}

TEST(Template, MistakesNameTheLine) {
  EXPECT_EQ(error("a\n{% for x in [1] %}\n"),
            "chat:2: expected '{% endfor %}' for this block, got the end of the template");
  EXPECT_EQ(error("\n\n{{ 1 | lenght }}"),
            "chat:3: expected a filter of chat templates, got 'lenght'; did you mean 'length'?");
  EXPECT_EQ(error("{{ 1 is strin }}"),
            "chat:1: expected a test of chat templates, got 'strin'; did you mean 'string'?");
  EXPECT_THAT(error("\n{% extends 'x' %}"),
              StartsWith("chat:2: expected a block of chat templates (if, for, "));
  EXPECT_THAT(error("{% include 'x' %}"), HasSubstr("got 'include', which is not supported here"));
  EXPECT_EQ(error("{{ 'a }}"),
            "chat:1: expected a closing ' of the text, got the end of the template");
  EXPECT_EQ(error("{{\n\n(1 }}"), "chat:3: expected ')' for the bracket of line 3, got '}'");
  EXPECT_EQ(error("{# never\nends"),
            "chat:1: expected '#}' at the end of a comment, got the end of the template");
  EXPECT_EQ(error("{% raw %}"), "chat:1: expected '{% endraw %}', got the end of the template");
  EXPECT_EQ(error("{{ a b }}"), "chat:1: expected '}}', got 'b'");
  EXPECT_EQ(error("{{ \xff }}"), "chat:1: expected UTF-8, got the byte 0xff");
  EXPECT_EQ(error("{{ 9223372036854775808 }}"),
            "chat:1: expected integers of 64 bits, got 9223372036854775808");
  EXPECT_EQ(error("{% if true %}\n{{ missing.a.b }}\n{% endif %}"),
            "chat:2: 'missing' is undefined");
  EXPECT_EQ(error("a\n{% macro m(x) %}\n{{ x.y.z }}\n{% endmacro %}\n{{ m({}) }}"),
            "chat:3: 'dict object' has no attribute 'y'");
  EXPECT_THAT(error("{{ [].append(1) }}"), StartsWith("chat:1: expected a list to stay as it is"));
  EXPECT_EQ(error("{{ 'a'.encode() }}"),
            "chat:1: expected a method of texts that is supported here, got 'encode'");
}

TEST(Template, RaiseExceptionThrowsATemplateRefusal) {
  const Template refusing("\n{{ raise_exception('Roles must alternate') }}", "chat");
  EXPECT_EQ(error_of<TemplateRefusal>([&] { refusing.render({}); }),
            "chat:2: the template refuses: Roles must alternate");
}

TEST(Template, BlocksOfGenerationAreSpansOfBytes) {
  const Template chat("é{% generation %}ab{% endgeneration %}-{% generation %}{% endgeneration %}",
                      "chat");
  const Rendering out = chat.render({});
  EXPECT_EQ(out.text, "éab-");
  EXPECT_THAT(out.generations, ElementsAre(Span{2, 4}, Span{5, 5}));
  EXPECT_FALSE(out.has_lost_generation);
  // The text of a macro may go anywhere.
  const Rendering lost =
      Template("{% macro m() %}{% generation %}a{% endgeneration %}{% endmacro %}{{ m()|upper }}",
               "chat")
          .render({});
  EXPECT_EQ(lost.text, "A");
  EXPECT_TRUE(lost.has_lost_generation);
  EXPECT_TRUE(lost.generations.empty());
}

TEST(Template, OneTemplateRendersManyTimes) {
  const Template chat("{% set ns = namespace(n=x) %}{% set ns.n = ns.n + 1 %}{{ ns.n }}", "chat");
  EXPECT_EQ(chat.render({{"x", 1}}).text, "2");
  EXPECT_EQ(chat.render({{"x", 5}}).text, "6");
}

TEST(Template, TimeComesFromTheCallerOrTheClock) {
  const Template chat("{{ strftime_now('%Y-%m') }}", "chat");
  EXPECT_EQ(chat.render({}, {}, 1721995200).text, "2024-07");
  EXPECT_EQ(chat.render({}).text.size(), 7u);
  EXPECT_EQ(rendered("[{{ strftime_now('') }}]"), "[]");
}

}  // namespace
}  // namespace axle::jinja
