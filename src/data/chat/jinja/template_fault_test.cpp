// Hostile templates: without end, too deep, too large, or cut anywhere. Each ends in one line.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "data/chat/jinja/builtins.h"
#include "data/chat/jinja/template.h"
#include "testing/error_of.h"
#include "testing/peak_memory.h"

namespace axle::jinja {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string repeated(std::string_view text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

std::string error(const std::string& source, const Limits& limits = {}) {
  return error_of<DataError>([&] { Template(source, "chat").render({}, limits); });
}

TEST(TemplateFault, LoopsWithoutEndStop) {
  const std::string nested =
      "{% for a in range(100000) %}{% for b in range(100000) %}{% for c in range(100000) %}"
      "{% set x = 1 %}{% endfor %}{% endfor %}{% endfor %}";
  EXPECT_THAT(error(nested), StartsWith("chat:1: expected an end within 5000000 steps"));
  EXPECT_THAT(error("{% for a in range(10**9) %}{% endfor %}"),
              HasSubstr("range: expected at most 100000 numbers"));
  EXPECT_THAT(error("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
              HasSubstr("levels of calls and expressions, got more; is there a macro that calls "));
  EXPECT_THAT(error("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}"),
              HasSubstr("levels of calls and expressions"));
  EXPECT_THAT(error("{% set ns = namespace() %}{% macro m() %}{% macro n() %}{% endmacro %}"
                    "{{ caller() }}{% endmacro %}"
                    "{% macro r(k) %}{% call m() %}{{ r(k + 1) }}{% endcall %}{% endmacro %}"
                    "{{ r(0) }}"),
              HasSubstr("levels of calls and expressions"));
  EXPECT_THAT(
      error("{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}"
            "{{ m(100) }}"),
      HasSubstr("expected an end within 5000000 steps"));
}

// What a filter does with a long text counts as steps.
TEST(TemplateFault, FiltersOfALongTextInALoopStop) {
  const Limits limits{.max_steps = 100'000};
  for (const auto& rows :
       {text_filters(), number_filters(), sequence_filters(), selection_filters()}) {
    for (const FilterRow& row : rows) {
      EXPECT_THAT(error(fmt::format("{{% set x = 'ǅ' * 500000 %}}{{% for i in range(100000) %}}"
                                    "{{% set y = x | {} %}}{{% endfor %}}",
                                    row.name),
                        limits),
                  StartsWith("chat:1: "))
          << row.name;
    }
  }
}

// The size of a text is found before the text is made.
TEST(TemplateFault, ATextIsNotMadeIfItIsTooLarge) {
  const int64_t before = peak_resident_bytes();
  for (const char* source :
       {"{{ ('a' * 1000000)|replace('a', 'b' * 1000000) }}", "{{ 'a'.center(10**9) }}",
        "{{ 'a'|center(10**9) }}", "{{ 'a'.center(10**8) }}", "{{ 'a'.ljust(10**8) }}",
        "{{ 'a'.rjust(10**8) }}", "{{ 'a'.zfill(10**8) }}", "{{ 'a'.ljust(10**7, 'bcdefgh') }}",
        "{{ 'a'.ljust(2**62, 'bcdefgh') }}", "{{ 'a'.replace('', 'b' * 10**8) }}",
        "{{ ('a' * 1000)|replace('', 'b' * 100000) }}",
        "{{ ('a' * 1000).replace('a', 'b' * 100000) }}", "{{ ('b' * 100000).join(['a'] * 1000) }}",
        "{{ (['a'] * 1000)|join('b' * 100000) }}", "{{ ('a\\n' * 10000)|indent(10000) }}",
        "{{ 'a' * 10**8 }}", "{{ [1] * 10**7 }}"}) {
    EXPECT_EQ(error(source), "chat:1: expected at most 64.0 MiB for a text or a list, got more")
        << source;
  }
  EXPECT_LT(peak_resident_bytes() - before, int64_t{192} << 20);
}

TEST(TemplateFault, TextsOfAllowedSizesAreMade) {
  const auto render = [](const std::string& source) {
    return Template(source, "chat").render({}, {}).text;
  };
  EXPECT_EQ(render("{{ 'a\u00e9'.replace('', '-') }}"), "-a-\u00e9-");
  EXPECT_EQ(render("{{ 'abc'.replace('', '-', 2) }} {{ 'aaa'.replace('aa', 'b') }}"), "-a-bc ba");
  EXPECT_EQ(render("{{ 'abab'.replace('ab', '', 1) }}|{{ ''.replace('', 'x') }}"), "ab|x");
  EXPECT_EQ(render("{{ 'a'.center(4, '*') }}"), "*a**");
  EXPECT_EQ(render("{{ 'a'.ljust(10**18, '') }}"), "a");  // no round for each position
  EXPECT_EQ(render("{{ '-'.join(['a', 'b']) }}{{ 'x'.join([]) }}"), "a-b");
  EXPECT_EQ(render("{{ 'a\n\nb'|indent(2, first=true) }}"), "  a\n\n  b");
  EXPECT_EQ(render("{{ ('a' * 1000000)|replace('a', 'bcd')|length }}"), "3000000");
}

TEST(TemplateFault, TextsAndListsStopGrowing) {
  const int64_t before = peak_resident_bytes();
  for (const char* source :
       {"{{ 'a' * 10**12 }}", "{{ [1] * 10**12 }}", "{{ 'a'.center(10**12) }}",
        "{% set ns = namespace(s='aaaaaaaa') %}"
        "{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
        "{% set ns = namespace(s=[1]) %}"
        "{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
        "{% set ns = namespace(s='aaaaaaaa') %}"
        "{% for i in range(100) %}{% set ns.s = ns.s.replace('a', 'aa') %}{% endfor %}",
        "{% for i in range(100000) %}{% for j in range(100000) %}{{ 'a' * 1000 }}{% endfor %}"
        "{% endfor %}",
        "{{ 'a'.ljust(9**9, 'bc') }}", "{{ ('%' ~ 10**9 ~ 'd') % 1 }}",
        "{{ '{:99999}'.format(1) }}", "{{ 'x'|indent(10**9, first=true) }}",
        "{{ [1]|tojson(indent=10**9) }}", "{{ [1]|batch(10**9, 'x')|list }}", "{{ 2 ** 64 }}",
        "{{ 10**18 * 10 }}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(40) %}{% set ns.l = [ns.l, ns.l] %}"
        "{% endfor %}{{ ns.l }}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}"
        "{% endfor %}{% set a = ns.l == [1] %}{{ ns.l|tojson|length }}"}) {
    const std::clock_t begin = std::clock();  // processor time: other programs may run beside it
    EXPECT_THAT(error(source), StartsWith("chat:1: ")) << source;
    EXPECT_LT(std::clock() - begin, 30 * CLOCKS_PER_SEC) << source;
  }
  EXPECT_LT(peak_resident_bytes() - before, int64_t{1} << 30);
}

TEST(TemplateFault, ValuesHaveALimitedDepth) {
  for (const char* nested : {"[ns.x]", "{'a': ns.x}", "[ns.x]|map('list')", "[ns.x].count",
                             "{'a': ns.x}.items()", "cycler(ns.x)", "(ns.x,)", "{'a': ns.x}.get"}) {
    const std::string source =
        std::string("{% set ns = namespace(x=[1]) %}{% for i in range(100000) %}{% set ns.x = ") +
        nested + " %}{% endfor %}ok";
    EXPECT_THAT(error(source), HasSubstr("nested lists and mappings, got more")) << nested;
  }
  const std::string loops =
      "{% set ns = namespace(x=[1]) %}{% for i in range(100000) %}"
      "{% for y in [ns.x] %}{% set ns.x = loop %}{% endfor %}{% endfor %}ok";
  EXPECT_THAT(error(loops), HasSubstr("nested lists and mappings, got more"));
  const std::string macros =
      "{% set ns = namespace(m=none) %}{% macro m() %}{% macro inner() %}{{ ns.m() }}{% endmacro %}"
      "{% set ns.m = inner %}{% endmacro %}"
      "{% for i in range(100000) %}{% set old = ns.m %}{{ m() }}{% endfor %}ok";
  EXPECT_EQ(error(macros), "no error");
}

// Objects that hold each other must be freed: a leak checker would see them.
TEST(TemplateFault, ObjectsThatHoldEachOther) {
  EXPECT_EQ(error("{% set ns = namespace() %}{% set ns.self = ns %}{% set ns.list = [ns] %}"
                  "{% macro m() %}{{ ns.m }}{% endmacro %}{% set ns.m = m %}"
                  "{% for x in [1] %}{% set ns.loop = loop %}{% set ns.f = loop.cycle %}"
                  "{% endfor %}ok"),
            "no error");
  EXPECT_THAT(error("{% set ns = namespace() %}{% set ns.self = ns %}{{ ns }}"),
              HasSubstr("levels of calls and expressions"));
}

TEST(TemplateFault, DeepSourcesStop) {
  const size_t many = 100'000;
  for (const std::string& source :
       {"{{ " + repeated("(", many) + "1" + repeated(")", many) + " }}",
        "{{ " + repeated("[", many) + " }}", "{{ " + repeated("-", many) + "1 }}",
        "{{ " + repeated("not ", many) + "1 }}", "{{ 1" + repeated(" + 1", many) + " }}",
        "{{ x" + repeated(".a", many) + " }}", "{{ x" + repeated("|upper", many) + " }}",
        "{{ 1" + repeated(" if 1 else 1", many) + " }}", repeated("{% if 1 %}", many),
        repeated("{% for x in [1] %}", many), "{{ " + repeated("{1:", many) + " }}",
        "{{ x" + repeated("()", many) + " }}",
        "{{ 1" + repeated(" is none", 1) + repeated("(1)", many), repeated("{% set a %}", many),
        "{% for " + repeated("(", many) + " %}"}) {
    EXPECT_THAT(error(source), StartsWith("chat:1: ")) << source.substr(0, 30);
  }
}

TEST(TemplateFault, CutAndChangedTemplatesFailWithAOneLineError) {
  const std::string source =
      "{%- macro m(a, b='x') -%}{{ a ~ b }}{%- endmacro -%}\n{% set ns = namespace(n=0) %}"
      "{% for m, x in [(1, 'a\\n'), (2, \"b\")] if x is not none recursive %}{# note #}"
      "{% if loop.first and not x in ['q'] %}{{ x|upper|replace('A', 'é') }}{% elif x %}"
      "{% generation %}{{ {'k': [1.5, 2][::-1]}|tojson(indent=2) }}{% endgeneration %}"
      "{% else %}{% raw %}{{ }}{% endraw %}{% endif %}{% set ns.n = ns.n + 1 %}{% endfor %}"
      "{% call m(*[1], **{'b': 2}) %}{% endcall %}{% filter trim %} x {% endfilter %}";
  const auto outcome = [&](const std::string& text) {
    try {
      Template(text, "chat").render({}, {.max_steps = 100'000, .max_bytes = 1 << 20});
      return std::string("chat: fine");
    } catch (const DataError& e) {
      return std::string(e.what());
    }
  };
  for (size_t size = 0; size < source.size(); ++size)
    EXPECT_THAT(outcome(source.substr(0, size)), StartsWith("chat:"));
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr std::string_view kBytes = "{}%#()[]|.,:'\"\\-+*/=<>~ \n0a_\xc3\xa9";
  for (int trial = 0; trial < 3000; ++trial) {
    std::string changed = source;
    for (int n = 1 + static_cast<int>(random() % 3); n > 0; --n)
      changed[random() % changed.size()] = kBytes[random() % kBytes.size()];
    const std::string line = outcome(changed);
    EXPECT_THAT(line, StartsWith("chat:"));
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace axle::jinja
