// Hostile YAML: what it may cost, and the errors that it gives.
#include "base/text/yaml.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string document_error(const std::string& text) {
  return error_of([&] { parse_yaml(text, "a.yaml"); });
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(Yaml, Documents) {
  EXPECT_EQ(parse_yaml("{a: [1, none, 'none'], b: {c: ''}, d: }").dump(),
            R"({"a":["1",null,"none"],"b":{"c":""},"d":null})");
  EXPECT_TRUE(parse_yaml("").is_null());
  EXPECT_TRUE(parse_yaml("# nothing\n").is_null());
  EXPECT_EQ(parse_yaml("--- 5\n...\n").dump(), "\"5\"");
  EXPECT_EQ(parse_yaml("{x: &x {y: &z 1}, w: *x, *z : 2}").dump(),
            R"({"x":{"y":"1"},"w":{"y":"1"},"1":"2"})");
  EXPECT_EQ(parse_yaml("none: 1").dump(), R"({"none":"1"})") << "as a key it is a name";
}

TEST(Yaml, WhatIsNoUtf8IsNotWritten) {
  EXPECT_EQ(yaml_text({{"a", {{"path", "caf\u00e9"}}}}), "a:\n  path: \"caf\u00e9\"\n");
  EXPECT_EQ(error_of([] {
              yaml_text({{"a", {{"path", "caf\xe9"}}}});
            }),
            "a.path: expected UTF-8, got 'caf\\xe9'");
}

TEST(Yaml, LinesOfKeysAndElements) {
  YamlLines lines;
  parse_yaml("recipe: a\nset:\n  x: 1\n  y:\n    z: 2\nmodify:\n- A\n- B: 1\n", "a", &lines);
  EXPECT_EQ(lines.at({0}), 1);
  EXPECT_EQ(lines.at({1}), 2);
  EXPECT_EQ(lines.at({1, 1}), 4);
  EXPECT_EQ(lines.at({1, 1, 0}), 5);
  EXPECT_EQ(lines.at({2, 0}), 7);
  EXPECT_EQ(lines.at({2, 1}), 8);
  EXPECT_EQ(lines.at({2, 1, 0}), 8);
}

TEST(Yaml, WhatIsNoDocument) {
  const std::pair<std::string, const char*> kCases[] = {
      {"a: 1\na: 2", "a.yaml:2: expected each key once, got 'a' twice"},
      {"a: {b: 1, b: 2}", "a.yaml:1: expected each key once, got 'b' twice"},
      {"[1]: 2", "a.yaml:1: expected a name as key, got a list or mapping"},
      {"? {a: 1}\n: 2", "a.yaml:1: expected a name as key, got a list or mapping"},
      {": 2", "a.yaml:1: expected a name as key, got none"},
      {"a: 1\n---\nb: 2", "expected one document, got a second"},
      {"a: 1\n]", "a.yaml:"},
      {"[1, 2", "a.yaml:1: expected YAML, got a syntax error"},
      {"a:\n\tb: 1", "; a tab indents this line, use spaces"},
      {"a:\n  b: 1\n \tc: 1\n", "; a tab indents this line, use spaces"},
      {"a: *b", "a.yaml:1: expected YAML, got a syntax error"},
      {"a: &a [*a]",
       "a.yaml:1: expected an alias of an earlier value, got one of a value that contains it"},
      {"a: 1\nb: \xff", "a.yaml:2: expected UTF-8, got the byte \\xff"},
      {std::string("a: 1\0b", 6), "a.yaml:1: expected text, got the control character \\x00"},
      {"a: 1\n\x04hidden", "a.yaml:2: expected text, got the control character \\x04"},
      {"\xfe\xff\0a", "a.yaml:1: expected YAML, got UTF-16"},
  };
  for (const auto& [text, message] : kCases)
    EXPECT_THAT(document_error(text), HasSubstr(message)) << text;
}

TEST(Yaml, DepthIsLimited) {
  const auto nested = [](std::string_view open, int times, std::string_view close) {
    return repeated(open, times) + "1" + repeated(close, times);
  };
  EXPECT_NO_THROW(parse_yaml(nested("[", int(kMaxConfigDepth), "]")));
  for (const int times : {int(kMaxConfigDepth) + 1, 10'000, 1'000'000}) {
    for (const std::string& text :
         {nested("[", times, "]"), nested("{a: ", times, "}"), repeated("- ", times) + "1",
          repeated("? ", times) + "1", repeated("[", times), repeated("{? ", times)})
      EXPECT_THAT(document_error(text), StartsWith("a.yaml:1: expected"))
          << text.substr(0, 8) << times;
  }
}

TEST(Yaml, AliasesCountAsWhatTheyStandFor) {
  // The first text stands for 10^9 values, the second for 10^9 bytes.
  std::string values = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 9; ++i) {
    values += fmt::format("a{0}: &a{0} [{1}]\n", i,
                          repeated(fmt::format("*a{}, ", i - 1), 9) + fmt::format("*a{}", i - 1));
  }
  EXPECT_THAT(document_error(values), HasSubstr("counting what anchors and aliases stand for"));
  const std::string bytes =
      "a: &a " + std::string(1'000'000, 'x') + "\nb: [" + repeated("*a, ", 1000) + "*a]";
  EXPECT_THAT(document_error(bytes), HasSubstr("counting what anchors and aliases stand for"));
  EXPECT_THAT(document_error(std::string(kMaxConfigBytes + 1, ' ')),
              StartsWith("a.yaml: expected at most 16777216 bytes"));
}

TEST(Yaml, KeysOfAMappingAreLimited) {
  std::string text;
  for (size_t i = 0; i < kMaxConfigKeys + 1; ++i) text += fmt::format("k{}: 1\n", i);
  EXPECT_EQ(document_error(text),
            "a.yaml:100001: expected at most 100000 keys in a mapping, got more");
}

// Each anchor would hold a copy of everything inside it: here 90 copies of a list of 200,000
// values.
TEST(Yaml, AnchorsCountAsWhatTheyHold) {
  std::string nested;
  for (int i = 0; i < 90; ++i) nested += fmt::format("&a{} [", i);
  nested += repeated("1,", 200'000) + "1" + repeated("]", 90);
  EXPECT_THAT(document_error(nested),
              HasSubstr("a.yaml:1: expected at most 4194304 values of 16777216 bytes in all, "
                        "counting what anchors and aliases stand for, got more"));
  const std::string long_text = "&a [&b [&c '" + std::string(6'000'000, 'x') + "']]";
  EXPECT_THAT(document_error(long_text), HasSubstr("counting what anchors and aliases stand for"));
  const std::string key = "? &a " + std::string(9'000'000, 'x') + "\n: 1";
  EXPECT_THAT(document_error(key), HasSubstr("counting what anchors and aliases stand for"));
}

// Quadratic time would be minutes.
TEST(Yaml, ManyKeysAreRead) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += fmt::format("k{}: 1\n", i);
  EXPECT_EQ(parse_yaml(text).size(), 100'000u);
}

TEST(Yaml, OfOthersHasTheTextNone) {
  EXPECT_EQ(parse_yaml("[none, null, ~]", "a", nullptr, NullWords::kOfYaml).dump(),
            R"(["none",null,null])");
}

TEST(Yaml, TagsOfOthersAreRefused) {
  EXPECT_EQ(parse_yaml("[!!str 1, ! 2, '3']").dump(), R"(["1","2","3"])");
  EXPECT_EQ(parse_yaml("!!map {a: !!seq [!!int 1, !!str none, !!float 0.5, !!null none]}").dump(),
            R"({"a":["1","none","0.5",null]})");
  for (const char* text : {"a: !function f", "a: !f [1]", "a: !f {b: 1}", "a: !<x> 1",
                           "b: !!python/object 3", "a: !!set [1]", "!!binary aGk=", "!key a: 1"})
    EXPECT_THAT(error_of([&] { parse_yaml(text); }),
                ::testing::HasSubstr("yaml:1: expected a value without a tag, got one with "))
        << text;
}

TEST(Yaml, EveryControlCharacterComesBack) {
  std::string all;
  for (char c = 1; c < 0x20; ++c) all += c;
  all += '\x7f';
  const nlohmann::ordered_json document = {{"key " + all, "value " + all}};
  EXPECT_EQ(parse_yaml(yaml_text(document)), document);
}

}  // namespace
}  // namespace axle
