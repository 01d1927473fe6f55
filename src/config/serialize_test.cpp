#include "config/serialize.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/text/yaml.h"
#include "config/example_test.h"
#include "testing/error_of.h"

namespace axle::example {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

std::string yaml_error(ConfigRef root, std::string_view text) {
  return error_of([&] { from_yaml(root, text, "model"); });
}

// Returns a tree that differs from full_tower() in every field, so that nothing agrees by chance.
Tower::Config other_tower() {
  return {.model_dim = 1,
          .norm = {Shift::Config{.eps = 9}, {.partition = {{"x"}}}},
          .layers = {Shift::Config{}},
          .heads = {{"z", Shift::Config{}}},
          .words = {"w"}};
}

TEST(Serialize, RoundTripsExactly) {
  for (const Tower::Config& tree : {full_tower(), other_tower(), Tower::Config{}}) {
    for (const Tower::Config& start : {Tower::Config{}, full_tower(), other_tower()}) {
      Tower::Config by_json = start, by_yaml = start;
      from_json(by_json, Json::parse(to_json(tree).dump()));
      EXPECT_EQ(diff(tree, by_json), "");
      from_yaml(by_yaml, to_yaml(tree));
      EXPECT_EQ(diff(tree, by_yaml), "") << to_yaml(tree);
    }
  }
}

TEST(Serialize, RootChildNamesItsClass) {
  const Child<Norm> tree{Twice::Config{.inner = Scale::Config{.factor = 0.1}},
                         {.dtype = Precision::kLow}};
  EXPECT_EQ(
      to_json(tree).dump(),
      R"({"class":"Twice","inner":{"class":"Scale","factor":0.1,"eps":1e-06},"@dtype":"low"})");
  EXPECT_EQ(to_yaml(tree),
            "class: Twice\ninner:\n  class: Scale\n  factor: 0.1\n  eps: 1e-06\n\"@dtype\": low\n");
  Child<Norm> back;
  from_yaml(back, to_yaml(tree));
  EXPECT_EQ(diff(tree, back), "");
}

TEST(Serialize, ReadsWhatPeopleWrite) {
  Tower::Config cfg = full_tower();
  from_yaml(cfg, R"(
# comment
model_dim: 16
label: none
norm: {inner: {factor: 2}}
precision: high
axes: [a, b]
hidden_dim: Fixed
)");
  EXPECT_EQ(cfg.model_dim, 16);
  EXPECT_FALSE(cfg.label);
  EXPECT_EQ(cfg.norm.get_if<Twice>()->inner.get_if<Scale>()->factor, 2)
      << "without a class the held config is changed";
  EXPECT_EQ(cfg.norm.options.dtype, Precision::kLow);
  EXPECT_EQ(cfg.axes.names.size(), 2u) << "a list for a type with list syntax";
  EXPECT_EQ(cfg.hidden_dim(1), 0);
  EXPECT_TRUE(cfg.tied) << "what is not named stays";
}

TEST(Serialize, AClassThatIsNamedStartsFromItsDefaults) {
  Tower::Config cfg{.norm = Scale::Config{.factor = 5, .eps = 1e-3f}};
  from_yaml(cfg, "norm: {class: Shift, by: 2}");
  EXPECT_EQ(cfg.norm.get_if<Shift>()->eps, 1e-5f) << "though the old class has such a field";
  from_yaml(cfg, "norm: {class: Scale, eps: 1e-03}");
  from_yaml(cfg, "norm: {class: Scale, factor: 4}");
  EXPECT_EQ(cfg.norm.get_if<Scale>()->eps, 1e-6f) << "though the class is the same";
  from_yaml(cfg, "norm: {eps: 1e-03}");
  EXPECT_EQ(cfg.norm.get_if<Scale>()->factor, 4) << "no class: what is there is changed";
}

TEST(Serialize, NumbersMakeTheClassThatTakesThem) {
  Tower::Config cfg;
  from_yaml(cfg, "{hidden_dim: 256, extra_dim: 5, spare: 3}");
  EXPECT_EQ(cfg.hidden_dim.name(), "Fixed");
  EXPECT_EQ(cfg.hidden_dim(7), 256);
  EXPECT_EQ((*cfg.extra_dim)(7), 5);
  EXPECT_EQ(cfg.spare->size, 3) << "a struct";
  EXPECT_EQ(cfg.spare->name, "") << "with the defaults of its other fields";
  EXPECT_EQ(yaml_error(cfg, "hidden_dim: 2.5"),
            "model.hidden_dim.dim: expected an integer, got '2.5'");
  EXPECT_THAT(yaml_error(cfg, "norm: 5"), HasSubstr("model.norm: no Norm is called '5'"))
      << "a role none of whose classes takes numbers";
  EXPECT_THAT(yaml_error(cfg, "hidden_dim: fiexd"),
              HasSubstr("thrice, twice; a number is a Fixed)"));
}

TEST(Serialize, Errors) {
  Tower::Config cfg;
  EXPECT_THAT(yaml_error(cfg, "modle_dim: 1"),
              HasSubstr("model.modle_dim: no such field; did you mean 'model_dim'?"));
  EXPECT_EQ(yaml_error(cfg, "norm: {class: Scale, epz: 1}"),
            "model.norm.epz: no such field; did you mean 'eps'? (fields: factor, eps)");
  EXPECT_EQ(
      yaml_error(cfg, "norm: {'@dtpe': low}"),
      "model.norm.@dtpe: no such option; did you mean '@dtype'? (options: @dtype, @partition)");
  EXPECT_THAT(yaml_error(cfg, "norm: {class: Scal}"),
              HasSubstr("model.norm: no Norm is called 'Scal'; did you mean"));
  EXPECT_EQ(yaml_error(cfg, "output_norm: {eps: 1}"),
            "model.output_norm: expected a mapping with 'class', got {\"eps\":\"1\"}");
  EXPECT_FALSE(cfg.output_norm);
  EXPECT_EQ(yaml_error(cfg, "mesh: [{name: a, size: x}]"),
            "model.mesh[0].size: expected an integer, got 'x'");
  EXPECT_EQ(yaml_error(cfg, "heads: {a: {class: Shift, by: x}}"),
            "model.heads['a'].by: expected an integer, got 'x'");
  EXPECT_EQ(yaml_error(cfg, "words: [none]"),
            "model.words[0]: expected a string, got none; a string 'none' needs quotes");
  EXPECT_EQ(yaml_error(cfg, "tied: [1]"), "model.tied: expected true or false, got [\"1\"]");
  EXPECT_EQ(yaml_error(cfg, "a: 1\nb: 2\na: 3"), "model:3: expected each key once, got 'a' twice");
  EXPECT_THAT(yaml_error(cfg, "a: [1"), HasSubstr("model:1: expected YAML, got a syntax error"));
  EXPECT_THROW(from_json(cfg, Json{{"label", 5}}), ConfigError) << "JSON knows its types";
  EXPECT_THROW(from_json(cfg, Json{{"model_dim", 1.5}}), ConfigError);
}

// Documents hold numbers and truth values as such, or as text that YAML leaves unread.
TEST(Serialize, LeavesAreReadFromTheirOwnKindAndFromText) {
  const auto read = [](const char* field, const nlohmann::ordered_json& value) {
    Tower::Config tower;
    const std::string error = error_of([&] { from_json(tower, {{field, value}}, "model"); });
    return error == "no error" ? to_json(tower)[field].dump() : error;
  };
  EXPECT_EQ(read("model_dim", INT64_MAX), "9223372036854775807");
  EXPECT_EQ(read("model_dim", INT64_MIN), "-9223372036854775808");
  EXPECT_EQ(read("model_dim", "64"), "64");
  EXPECT_EQ(read("model_dim", uint64_t{1} << 63),
            "model.model_dim: expected an integer from -9223372036854775808 to "
            "9223372036854775807, got '9223372036854775808'");
  EXPECT_EQ(read("model_dim", 5.0), "model.model_dim: expected an integer, got '5.0'");
  EXPECT_EQ(read("model_dim", true), "model.model_dim: expected an integer, got 'true'");
  EXPECT_EQ(read("small", 255), "255");
  EXPECT_EQ(read("small", 256), "model.small: expected an integer from 0 to 255, got '256'");
  EXPECT_EQ(read("small", -1), "model.small: expected an integer from 0 to 255, got '-1'");
  EXPECT_EQ(read("weights", {{"a", 3}, {"b", 0.1}, {"c", "1e-6"}}),
            R"({"a":3.0,"b":0.1,"c":1e-06})");
  EXPECT_EQ(read("weights", {{"a", 1e39}}),
            "model.weights['a']: expected a number that fits into 32 bits, got '1e+39'");
  EXPECT_EQ(read("tied", true), "true");
  EXPECT_EQ(read("tied", 1), "model.tied: expected true or false, got '1'");
  EXPECT_EQ(read("norm", {{"class", "Shift"}, {"eps", 1e-6}}),
            R"({"class":"Shift","eps":1e-06,"factor":3,"by":null})");
}

TEST(Serialize, ConfigByClassOverAllRoles) {
  const AnyConfig config = config_from_json(
      parse_yaml("{class: Shift, config: {by: 4}, dims: {input_dim: 3}}"), "layer.yaml");
  ASSERT_NE(config.get_if<Shift::Config>(), nullptr);
  EXPECT_EQ(config.get_if<Shift::Config>()->by, 4);
  EXPECT_EQ(config_from_json(Json{{"class", "Scale"}}).type().name, "Scale");
  EXPECT_THROW(config_from_json(Json{{"config", 1}}), ConfigError);

  AnyConfig dims = AnyConfig::with_defaults(config.type().role->dims());
  from_yaml(dims, "input_dim: 3");
  const auto* norm =
      static_cast<Norm*>(config.type().build(config.get(), dims.get(), {.path = "shift"}));
  const std::unique_ptr<const Norm> owned(norm);
  EXPECT_EQ(norm->apply(1), 5);
}

}  // namespace
}  // namespace axle::example
