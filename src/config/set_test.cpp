#include "config/set.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "config/example_test.h"
#include "config/print.h"
#include "config/serialize.h"
#include "config/walk.h"
#include "testing/error_of.h"

namespace axle::example {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(ConfigRef root, std::string_view path, std::string_view text) {
  return axle::error_of([&] { set(root, path, text, "model"); });
}

TEST(Set, Leaves) {
  Tower::Config cfg;
  set(cfg, "model_dim", "128");
  set(cfg, "tied", "true");
  set(cfg, "precision", "low");
  set(cfg, "axes", "[data, fsdp]");
  set(cfg, "label", "none of 'these'");
  set(cfg, "hidden_dim.scale", "2.5");
  set(cfg, "norm.eps", "1e-3");
  EXPECT_EQ(cfg.model_dim, 128);
  EXPECT_TRUE(cfg.tied);
  EXPECT_EQ(cfg.precision, Precision::kLow);
  EXPECT_THAT(cfg.axes.names, ElementsAre("data", "fsdp"));
  EXPECT_EQ(cfg.label, "none of 'these'");
  EXPECT_EQ(cfg.hidden_dim(4), 10);
  EXPECT_EQ(cfg.norm.get_if<Scale>()->eps, 1e-3f);
}

TEST(Set, NoneAndRequired) {
  Tower::Config cfg = full_tower();
  for (const char* path : {"label", "extra_dim", "output_norm", "spare"}) set(cfg, path, "none");
  EXPECT_FALSE(cfg.label || cfg.extra_dim || cfg.output_norm || cfg.spare);
  set(cfg, "label", "'none'");
  EXPECT_EQ(cfg.label, "none");
  set(cfg, "model_dim", "REQUIRED");
  EXPECT_FALSE(cfg.model_dim.has_value());
  set(cfg, "spare.size", "4");
  EXPECT_EQ(cfg.spare->size, 4) << "an optional struct comes into being";
}

// A value of a document is read as its text would be. The document has taken the quotes away, so
// that "none" and quotes that are still there belong to the text.
TEST(SetValue, ReadsAsTheTextDoes) {
  const Tower::Config given = full_tower();
  for (const auto& [path, text] : std::vector<std::pair<std::string, std::string>>{
           {"model_dim", "128"},
           {"label", "none"},
           {"label", "plain"},
           {"extra_dim", "none"},
           {"output_norm", "none"},
           {"precision", "low"},
           {"norm", "{class: Scale, eps: 0.5}"},
           {"norm.eps", "1e-3"},
           {"hidden_dim", "{class: Multiple, scale: 3}"},
           {"model_dim", "REQUIRED"}}) {
    Tower::Config by_text = given, by_value = given;
    const auto set_text = [&] { set(by_text, path, text, "model"); };
    const auto set_json = [&] {
      const nlohmann::ordered_json json = text;
      set_value(by_value, path, text == "none" ? nlohmann::ordered_json() : json, "model");
    };
    EXPECT_EQ(axle::error_of(set_json), axle::error_of(set_text)) << path << " " << text;
    EXPECT_EQ(to_string(by_value), to_string(by_text)) << path << " " << text;
  }
  Tower::Config cfg = given;
  set_value(cfg, "label", "none");
  EXPECT_EQ(cfg.label, "none");
  set_value(cfg, "label", "'quoted'");
  EXPECT_EQ(cfg.label, "'quoted'");
  EXPECT_EQ(axle::error_of([&] { set_value(cfg, "words[0]", nullptr, "model"); }),
            "model.words[0]: expected a string, got none; a string 'none' needs quotes");
  set_value(cfg, "norm", nlohmann::ordered_json{{"class", "Scale"}, {"eps", 0.25}});
  EXPECT_EQ(cfg.norm.get_if<Scale>()->eps, 0.25f);
}

TEST(Set, OnlyTheWordNoneClears) {
  Tower::Config cfg = full_tower();
  for (const char* const text : {" ", "%x", "# 0.99", "---", "~", "null"}) {
    EXPECT_NE(error_of(cfg, "spare", text), "no error") << text;
    EXPECT_TRUE(cfg.spare) << text;
  }
  set(cfg, "spare", "none");
  EXPECT_FALSE(cfg.spare);
}

TEST(Set, OptionsHaveASign) {
  Tower::Config cfg;
  set(cfg, "norm.@dtype", "low");
  set(cfg, "norm.@partition", "[model]");
  EXPECT_EQ(cfg.norm.options.dtype, Precision::kLow);
  EXPECT_EQ(to_string(find_slot(cfg, "norm.@dtype")), "low\n");
  set(cfg, "norm.@dtype", "none");
  EXPECT_FALSE(cfg.norm.options.dtype);
  EXPECT_EQ(
      error_of(cfg, "norm.@dtyp", "low"),
      "model.norm.@dtyp: no such option; did you mean '@dtype'? (options: @dtype, @partition)");
  EXPECT_THAT(error_of(cfg, "source.@dtype", "low"),
              HasSubstr("expected model.source to be set first"));
  Child<Norm> root = Scale::Config{};
  set(root, "@dtype", "low");
  EXPECT_EQ(root.options.dtype, Precision::kLow);
}

TEST(Set, ElementsOfListsAndMaps) {
  Tower::Config cfg = full_tower();
  set(cfg, "layers[0].factor", "9");
  set(cfg, "heads['b.c'].factor", "8");
  set(cfg, "heads.a.by", "7");
  set(cfg, "mesh[1].size", "16");
  set(cfg, "words[1]", "x");
  set(cfg, "weights.new", "0.5");
  set(cfg, "heads['fresh']", "Shift");
  EXPECT_EQ(cfg.layers[0].get_if<Scale>()->factor, 9);
  EXPECT_EQ(cfg.heads["b.c"].get_if<Scale>()->factor, 8);
  EXPECT_EQ(cfg.heads["a"].get_if<Shift>()->by, 7);
  EXPECT_EQ(cfg.mesh[1].size, 16);
  EXPECT_EQ(cfg.words[1], "x");
  EXPECT_EQ(cfg.weights["new"], 0.5);
  EXPECT_NE(cfg.heads["fresh"].get_if<Shift>(), nullptr);
  EXPECT_EQ(error_of(cfg, "layers[2].factor", "1"),
            "model.layers[2]: no such element; the list has 2");
  EXPECT_EQ(error_of(cfg, "layers.0.factor", "1"),
            "model.layers.0: no such element (write [0]); the list has 2");
  EXPECT_THAT(error_of(cfg, "heads.b.eps", "1"), HasSubstr("model.heads.b: no such key"));
}

TEST(Set, CreatesTheOptionalStructsAndTheLastKeyOfAPath) {
  Tower::Config cfg;
  set(cfg, "spare.size", "4");
  EXPECT_TRUE(cfg.spare);
  set(cfg, "weights.new", "1");
  EXPECT_TRUE(cfg.weights.contains("new"));
  EXPECT_EQ(error_of(cfg, "heads.b.eps", "1"), "model.heads.b: no such key; it has none")
      << "only the last name of a path creates a key";
}

TEST(Set, NoneRemovesAnEntryOfAMap) {
  Tower::Config cfg = full_tower();
  set(cfg, "heads['b.c']", "none");
  EXPECT_EQ(cfg.heads.count("b.c"), 0u);
  EXPECT_EQ(cfg.heads.count("a"), 1u);
  EXPECT_EQ(error_of(cfg, "heads['b.c']", "none"), "model.heads['b.c']: no such key (keys: ['a'])");
  set_value(cfg, "heads", nlohmann::ordered_json{{"a", nullptr}, {"d", "Shift"}});
  EXPECT_EQ(cfg.heads.count("a"), 0u);
  EXPECT_EQ(cfg.heads.count("d"), 1u);
  EXPECT_EQ(error_of(cfg, "heads", "{a: none}"),
            "model.heads['a']: expected an entry to remove, got none");
  set_value(cfg, "heads.d", nullptr);
  EXPECT_TRUE(cfg.heads.empty());
  // Numbers may not be none, and nothing is removed.
  EXPECT_THAT(error_of(cfg, "weights.new", "none"), HasSubstr("expected a number, got"));
}

TEST(Set, ManyEntriesOfMaps) {
  Tower::Config cfg;
  std::string flow = "{";
  for (int i = 0; i < 2000; ++i) flow += fmt::format("k{}: 1, ", i);
  set(cfg, "weights", flow + "}");
  EXPECT_EQ(cfg.weights.size(), 2000u);
  EXPECT_EQ(error_of(cfg, "weights", flow + "more: 1}"),
            "model.weights: expected at most 2000 entries, got 2001");
  // A walk over all entries for each would take half a minute.
  for (int i = 0; i < 20'000; ++i) set(cfg, fmt::format("weights.k{}", i), "2");
  EXPECT_EQ(cfg.weights.size(), 20'000u);
}

TEST(Set, ManyEntriesOfLists) {
  Tower::Config cfg;
  const auto flow = [](int n, std::string_view entry) {
    std::string out = "[";
    for (int i = 0; i < n; ++i) out += fmt::format("{}, ", entry);
    return out + "]";
  };
  set(cfg, "sizes", flow(2000, "1"));
  EXPECT_EQ(cfg.sizes.size(), 2000u);
  for (const auto& [field, entry] : {std::pair("sizes", "1"), {"layers", "Scale"}, {"mesh", "{}"}})
    EXPECT_EQ(error_of(cfg, field, flow(2001, entry)),
              fmt::format("model.{}: expected at most 2000 entries, got 2001", field));
  EXPECT_EQ(cfg.sizes.size(), 2000u);
  const nlohmann::ordered_json long_list(40'000, 1);
  EXPECT_EQ(axle::error_of([&] { set_value(cfg, "sizes", long_list, "model"); }),
            "model.sizes: expected at most 2000 entries, got 40000");
}

TEST(Set, AKeyOfAMapMayStandInBracketsWithAndWithoutQuotes) {
  for (const std::string key : {"k", "ab", "xla_foo", "a.b", "**.norm.scale", "a[0", "it's", "7"}) {
    std::vector<std::string> paths = {"weights['" + key + "']", "weights[\"" + key + "\"]",
                                      "weights[" + key + "]"};
    if (key.find_first_of(".[") == key.npos) paths.push_back("weights." + key);
    for (const std::string& path : paths) {
      Tower::Config cfg;
      set(cfg, path, "0.5");  // creates the entry
      set(cfg, path, "1.5");  // finds the entry
      EXPECT_THAT(cfg.weights, ElementsAre(::testing::Pair(key, 1.5))) << path;
      EXPECT_EQ(to_string(find_slot(cfg, path)), "1.5\n") << path;
    }
  }
  Tower::Config cfg;
  set(cfg, "heads[mine]", "{class: Scale, factor: 4}");
  set(cfg, "heads[mine].eps", "1e-3");
  EXPECT_EQ(cfg.heads.at("mine").get_if<Scale>()->factor, 4);
  EXPECT_EQ(cfg.heads.at("mine").get_if<Scale>()->eps, 1e-3f);
  EXPECT_THAT(error_of(cfg, "weights[]", "1"), HasSubstr("model.weights: expected a key"));
  for (const char* open :
       {"weights['a]", "weights[\"a]", "weights['a\"]", "weights[']", "weights["})
    EXPECT_THAT(error_of(cfg, open, "1"), HasSubstr("expected a path")) << open;
}

TEST(Set, WholeListsMapsAndStructs) {
  Tower::Config cfg;
  set(cfg, "sizes", "[1, 2, 3]");
  set(cfg, "words", "[a, 'none', \"b c\"]");
  set(cfg, "weights", "{a: 1, b: 2.5}");
  set(cfg, "mesh", "[{name: data}, {name: model, size: 4}]");
  set(cfg, "spare", "{name: s}");
  set(cfg, "layers", "[Scale, {class: Shift, by: 2}]");
  EXPECT_THAT(cfg.sizes, ElementsAre(1, 2, 3));
  EXPECT_THAT(cfg.words, ElementsAre("a", "none", "b c"));
  EXPECT_EQ(cfg.weights["b"], 2.5);
  EXPECT_EQ(cfg.mesh[1].size, 4);
  EXPECT_EQ(cfg.spare->name, "s");
  EXPECT_EQ(cfg.layers[1].get_if<Shift>()->by, 2);
  EXPECT_EQ(error_of(cfg, "sizes", "[1, x]"), "model.sizes[1]: expected an integer, got 'x'");
  EXPECT_EQ(error_of(cfg, "sizes", "7"), "model.sizes: expected a list, got \"7\"");
  EXPECT_THAT(error_of(cfg, "sizes", "[1, 2"), HasSubstr("model.sizes:1: expected YAML"));
}

TEST(Set, MapsKeepTheEntriesThatAreNotNamed) {
  Tower::Config cfg{.heads = {{"a", Scale::Config{.factor = 5}}},
                    .weights = {{"old", 1}, {"b", 2}}};
  set(cfg, "weights", "{new: 3, b: 4}");
  EXPECT_THAT(cfg.weights, ElementsAre(::testing::Pair("b", 4), ::testing::Pair("new", 3),
                                       ::testing::Pair("old", 1)));
  set(cfg, "heads", "{a: {eps: 1e-3}, other: Shift}");
  EXPECT_EQ(cfg.heads.at("a").get_if<Scale>()->factor, 5);
  EXPECT_EQ(cfg.heads.at("a").get_if<Scale>()->eps, 1e-3f);
  EXPECT_EQ(cfg.heads.size(), 2u);
  set(cfg, "weights", "{}");
  EXPECT_TRUE(cfg.weights.empty());
}

TEST(Set, ClassesCarryFieldsAndOptions) {
  Tower::Config cfg{.norm = {Scale::Config{.factor = 5, .eps = 1e-3f}, {.dtype = Precision::kLow}}};
  set(cfg, "norm", "Shift");
  ASSERT_NE(cfg.norm.get_if<Shift>(), nullptr);
  EXPECT_EQ(cfg.norm.get_if<Shift>()->eps, 1e-3f) << "same name and type";
  EXPECT_EQ(cfg.norm.get_if<Shift>()->factor, 3) << "same name, another type";
  EXPECT_EQ(cfg.norm.options.dtype, Precision::kLow);
  set(cfg, "norm", "{class: Scale, eps: 1e-06}");
  EXPECT_EQ(cfg.norm.get_if<Scale>()->eps, 1e-6f) << "written, though it is the default";
  EXPECT_EQ(cfg.norm.options.dtype, Precision::kLow);
  set(cfg, "norm", "{factor: 3, '@dtype': high}");
  EXPECT_EQ(cfg.norm.get_if<Scale>()->factor, 3);
  EXPECT_EQ(cfg.norm.options.dtype, Precision::kHigh);
  set(cfg, "output_norm", "Twice");
  EXPECT_NE(cfg.output_norm->get_if<Twice>(), nullptr);
  set(cfg, "source", "Lines");
  EXPECT_NE(cfg.source->get_if<Lines>(), nullptr);
}

TEST(Set, ANameMayStandBeforeTheFields) {
  Tower::Config cfg{.norm = Scale::Config{.factor = 5, .eps = 1e-3f}};
  set(cfg, "norm", "{Scale: {eps: 1e-06}}");
  EXPECT_EQ(cfg.norm.get_if<Scale>()->factor, 2) << "starts from the defaults, as with `class`";
  EXPECT_EQ(cfg.norm.get_if<Scale>()->eps, 1e-6f);
  set(cfg, "norm", "{Shift: {factor: 4, '@dtype': high}}");
  EXPECT_EQ(cfg.norm.get_if<Shift>()->factor, 4);
  EXPECT_EQ(cfg.norm.options.dtype, Precision::kHigh);
  set(cfg, "norm", "{Scale: null}");
  EXPECT_NE(cfg.norm.get_if<Scale>(), nullptr);
  set(cfg, "output_norm", "{Twice: {inner: {Shift: {by: 2}}}}");
  EXPECT_EQ(cfg.output_norm->get_if<Twice>()->inner.get_if<Shift>()->by, 2);
  EXPECT_THAT(error_of(cfg, "norm", "{Shfit: {by: 2}}"), HasSubstr("did you mean 'Shift'"));
  EXPECT_THAT(error_of(cfg, "norm", "{Shift: 2}"),
              HasSubstr("model.norm.Shift: expected a mapping of fields, got \"2\""));
  EXPECT_THAT(error_of(cfg, "norm", "{Shift: {bye: 2}}"), HasSubstr("model.norm.bye"));
}

TEST(Set, ANameSaysWhatItKept) {
  Tower::Config cfg{.norm = Scale::Config{.factor = 5, .eps = 1e-3f}};
  const auto done = set(cfg, "norm", "Shift");
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].what, "Scale -> Shift");
  EXPECT_THAT(done[0].report.matched, ElementsAre("norm"));
  EXPECT_THAT(done[0].report.carried, ElementsAre("norm.eps"));
  EXPECT_THAT(done[0].report.dropped, ElementsAre("norm.factor"));
  const auto again = set(cfg, "norm", "Shift");
  ASSERT_EQ(again.size(), 1u);
  EXPECT_THAT(again[0].report.matched, ElementsAre());
  EXPECT_THAT(again[0].report.unchanged, ElementsAre("norm"));
  EXPECT_TRUE(set(cfg, "norm", "{class: Shift, by: 3}").empty()) << "starts from the defaults";
  EXPECT_EQ(cfg.norm.get_if<Shift>()->eps, 1e-5f);
}

TEST(Set, KeysOfMapsFollowTheirRule) {
  Tower::Config cfg;
  EXPECT_NO_THROW(set(cfg, "heads.a_b-C9", "Scale"));
  EXPECT_NO_THROW(set(cfg, "weights", "{a b/../c: 1}")) << "a map of any keys";
  for (const std::string key :
       {"", "../x", ".", "..", ".hidden", "a/b", "/", "a b", "a\x01", "\xc3\xa4"}) {
    EXPECT_THAT(error_of(cfg, "heads['" + key + "']", "Scale"),
                HasSubstr("model.heads: expected a name of 1 to 100 letters"))
        << key;
  }
  EXPECT_THAT(error_of(cfg, "heads", "{../x: Scale}"),
              HasSubstr("model.heads: expected a name of 1 to 100 letters"));
  for (const char* path : {"weights['']", "weights['a\x01']"})
    EXPECT_THAT(error_of(cfg, path, "1"), HasSubstr("model.weights: expected a key")) << path;
}

TEST(Set, TextIsUtf8) {
  Tower::Config cfg;
  EXPECT_EQ(error_of(cfg, "label", "a\xff"), "label: expected UTF-8, got 'a\\xff'");
  EXPECT_EQ(error_of(cfg, "lab\xffl", "a"),
            "expected the name of a field in UTF-8, got 'lab\\xffl'");
}

TEST(Set, FunctionsByName) {
  Tower::Config cfg;
  set(cfg, "hidden_dim", "thrice");
  EXPECT_EQ(cfg.hidden_dim(4), 12);
  set(cfg, "hidden_dim", "{class: Fixed, dim: 5}");
  EXPECT_EQ(cfg.hidden_dim(4), 5);
  set(cfg, "extra_dim", "Scaled");
  EXPECT_EQ((*cfg.extra_dim)(2), 8);
  EXPECT_EQ(error_of(cfg, "hidden_dim", "thirce"),
            "model.hidden_dim: no function that fits here is called 'thirce'; did you "
            "mean 'thrice'? "
            "(functions: Fixed, Scaled, thrice, twice; a number is a Fixed)");
}

struct Renamed {
  double size = 1;
  Child<Norm> norm = Scale::Config{};
  NamedMap<Axis> axes = {};
  static constexpr auto kFormerNames =
      std::to_array<FormerName>({{"width", "size"}, {"first_norm", "norm"}});
  AXLE_CONFIG(Renamed, size, norm, axes)
};
AXLE_REGISTER(Renamed)

TEST(FormerNames, ArePathsOfTheField) {
  Renamed cfg;
  set(cfg, "width", "3");
  set(cfg, "first_norm.factor", "5");
  EXPECT_EQ(cfg.size, 3);
  EXPECT_EQ(cfg.norm.get_if<Scale>()->factor, 5);
  set_value(cfg, "width", 4);
  EXPECT_EQ(cfg.size, 4);
  EXPECT_EQ(to_string(find_slot(cfg, "first_norm.eps")), "1e-06\n");
  set(cfg, "axes.width", "2");
  EXPECT_TRUE(cfg.axes.contains("width")) << "a key of a map is no field";
  EXPECT_EQ(error_of(cfg, "width", "x"), "model.width: expected a number, got 'x'");
  EXPECT_EQ(error_of(cfg, "widt", "1"), "model.widt: no such field (fields: size, norm, axes)");
}

TEST(FormerNames, AreReadButNeverWritten) {
  Renamed cfg;
  from_yaml(cfg, "{width: 3, first_norm: {factor: 5}}");
  EXPECT_EQ(to_string(cfg),
            "size: 3.0\nnorm: Scale\nnorm.factor: 5.0\nnorm.eps: 1e-06\naxes: {}\n");
  EXPECT_EQ(to_json(cfg).dump(),
            R"({"size":3.0,"norm":{"class":"Scale","factor":5.0,"eps":1e-06},"axes":{}})");
}

TEST(FormerNames, SelectWhatIsReplaced) {
  Renamed cfg{.norm = Scale::Config{.eps = 1e-3f}};
  EXPECT_THAT(replace_config<Scale>(cfg, Shift::Config{}, {.at = "first_norm"}).matched,
              ElementsAre("norm"));
  EXPECT_EQ(cfg.norm.get_if<Shift>()->eps, 1e-3f);
}

TEST(FormerNames, MustNameAFieldAndBeNone) {
  ConfigType type = Renamed::config_type();
  const auto error = [&](const FormerName& name) {
    return axle::error_of([&] { detail::set_former_names(type, std::span(&name, 1)); });
  };
  EXPECT_EQ(error({"old", "siz"}),
            "AXLE_CONFIG(Renamed, ...): kFormerNames: expected a former and the present name of a "
            "field, got 'old' and 'siz'");
  EXPECT_NE(error({"size", "norm"}), "no error");
}

TEST(Set, AFormerTextOfAnEnumIsReadButNeverShown) {
  Tower::Config cfg;
  set(cfg, "precision", "coarse");
  EXPECT_EQ(cfg.precision, Precision::kLow);
  EXPECT_EQ(to_string(find_slot(cfg, "precision")), "low\n");
  EXPECT_THAT(find_slot(cfg, "precision").ops->choices(), ElementsAre("low", "high"));
  EXPECT_EQ(error_of(cfg, "precision", ""), "model.precision: expected low or high, got ''");
}

TEST(Set, Errors) {
  Tower::Config cfg;
  const std::string before = to_string(cfg);
  EXPECT_EQ(error_of(cfg, "model_dm", "1").substr(0, 62),
            "model.model_dm: no such field; did you mean 'model_dim'? (fiel");
  EXPECT_EQ(error_of(cfg, "norm.epz", "1"),
            "model.norm.epz: no such field; did you mean 'eps'? (fields: factor, eps)");
  EXPECT_EQ(error_of(cfg, "model_dim", "abc"), "model.model_dim: expected an integer, got 'abc'");
  EXPECT_EQ(error_of(cfg, "small", "300"),
            "model.small: expected an integer from 0 to 255, got '300'");
  EXPECT_EQ(error_of(cfg, "precision", "mid"), "model.precision: expected low or high, got 'mid'");
  EXPECT_EQ(
      error_of(cfg, "norm", "Scle"),
      "model.norm: no Norm is called 'Scle'; did you mean 'Scale'? (classes: Bounded, LoudScale, "
      "Scale, Shift, Twice)");
  EXPECT_EQ(error_of(cfg, "tied.x", "1"), "model.tied.x: no such field; it has none");
  EXPECT_EQ(error_of(cfg, "output_norm.eps", "1"),
            "model.output_norm.eps: expected model.output_norm to be set first, got none");
  EXPECT_THAT(error_of(cfg, "layers[0", "1"), HasSubstr("expected a path"));
  EXPECT_THAT(error_of(cfg, "norm..eps", "1"), HasSubstr("expected a path"));
  EXPECT_THAT(error_of(cfg, "norm.", "1"), HasSubstr("expected a path"));
  EXPECT_EQ(to_string(cfg), before);
}

}  // namespace
}  // namespace axle::example
