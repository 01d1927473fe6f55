#include <gmock/gmock.h>

#include "config/serialize.h"
#include "nn/init_rules.h"
#include "nn/toy_layers_test.h"
#include "ops/movement/movement.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Toy> chain(LayerOptions options = {}, LayerOptions of_second = {}) {
  Chain::Config cfg;
  cfg.second.options = std::move(of_second);
  return Child<Toy>(cfg, std::move(options)).build({.dim = 3}, Scope{.path = "root"});
}
std::string init_at(const Layer& layer, const std::string& path) {
  return layer.param_specs().at(path).initialiser().text;
}

TEST(ParamPath, PatternsMatchWholePaths) {
  EXPECT_TRUE(matches_path("weight", "weight"));
  EXPECT_TRUE(matches_path("**.weight", "weight"));
  EXPECT_TRUE(matches_path("**.weight", "a/b/weight"));
  EXPECT_TRUE(matches_path("a.**", "a/b/weight"));
  EXPECT_TRUE(matches_path("a.*.w*t", "a/b/weight"));
  EXPECT_FALSE(matches_path("weight", "a/b/weight"));
  EXPECT_FALSE(matches_path("b.weight", "a/b/weight"));
  EXPECT_FALSE(matches_path("*.weight", "a/b/weight"));
  EXPECT_FALSE(matches_path("a", "a/b/weight"));
}

TEST(InitByName, TheFirstRuleThatMatchesCounts) {
  const InitByName by_name{.rules = {{.pattern = "root.first.**", .init = Constant{.value = 2}},
                                     {.pattern = "**.weight", .init = Constant{.value = 3}}},
                           .otherwise = Constant{.value = 4}};
  const auto layer = chain({.init = Init(by_name)});
  EXPECT_EQ(init_at(*layer, "root/first/weight"), "constant(2.0)");
  EXPECT_EQ(init_at(*layer, "root/second/weight"), "constant(3.0)");
  // Toy layers start w at 1, as layers do with scales.
  EXPECT_EQ(init_at(*layer, "root/first/w"), "constant(2.0)");
  EXPECT_EQ(init_at(*layer, "root/second/w"), "constant(1.0)");
}

TEST(InitByName, WeightsWithoutARuleTakeTheDefault) {
  const auto layer = chain({.init = Init(InitByName{.otherwise = Constant{.value = 4}})});
  EXPECT_EQ(init_at(*layer, "root/first/weight"), "constant(4.0)");
  EXPECT_EQ(init_at(*layer, "root/first/w"), "constant(1.0)");
}

TEST(InitByName, InitOfASlotReplacesTheRulesAbove) {
  const InitByName by_name{.rules = {{.pattern = "**", .init = Constant{.value = 2}}}};
  const auto layer = chain({.init = Init(by_name)}, {.init = Init(Constant{.value = 5})});
  EXPECT_EQ(init_at(*layer, "root/first/weight"), "constant(2.0)");
  EXPECT_EQ(init_at(*layer, "root/second/weight"), "constant(5.0)");
  EXPECT_EQ(init_at(*layer, "root/second/w"), "constant(1.0)");
}

TEST(InitByName, KeepsTheInitialiserThatALayerChooses) {
  const InitByName by_name{.rules = {{.pattern = "**", .init = Constant{.value = 2}}}};
  const Init own = Gaussian{.std = 0.1};
  EXPECT_EQ(named_init(own, by_name, "emb/weight")({.shape = {2}}).text, "normal(0.0, 0.1^2)");
  EXPECT_EQ(named_init(Init(Zeros{}), by_name, "proj/bias")({.shape = {2}}).text, "constant(2.0)");
  EXPECT_EQ(named_init(std::nullopt, std::nullopt, "x")({.shape = {2, 2}}).text,
            "uniform(0, 1.0 / fan_avg)");
}

TEST(DTypesByName, TheFirstRuleThatMatchesBeatsTheDtypeOfTheSlot) {
  const auto layer = chain(
      {.dtype = DType::kBF16, .dtypes = {{.pattern = "**.w", .dtype = FloatDType(DType::kF32)}}},
      {.dtypes = {{.pattern = "**", .dtype = FloatDType(DType::kF64)}}});
  const Tree<ParamSpec> specs = layer->param_specs();
  EXPECT_EQ(specs.at("root/first/weight").dtype, DType::kBF16);
  EXPECT_EQ(specs.at("root/first/w").dtype, DType::kF32);
  EXPECT_EQ(specs.at("root/second/weight").dtype, DType::kF64);
}

TEST(LayerOptions, RulesByNameAreReadFromYaml) {
  LayerOptions options;
  from_yaml(options, R"(
init:
  class: InitByName
  rules:
    - {pattern: '**.bias', init: {class: Constant, value: 2}}
    - {pattern: '**.k_proj.*', init: {class: Gaussian, std: 0.5}}
dtypes:
  - {pattern: '**.scale', dtype: f32}
)");
  EXPECT_EQ(named_init(Init(Zeros{}), options.init, "a/bias")({.shape = {2}}).text,
            "constant(2.0)");
  EXPECT_EQ(named_init(std::nullopt, options.init, "a/k_proj/weight")({.shape = {2}}).text,
            "normal(0.0, 0.5^2)");
  EXPECT_EQ(named_dtype(options.dtypes, "norm/scale"), DType::kF32);
  EXPECT_EQ(named_dtype(options.dtypes, "norm/bias"), std::nullopt);
  EXPECT_THAT(error_of([&] { from_yaml(options, "dtypes: [{pattern: x, dtype: i32}]"); }),
              HasSubstr("dtypes[0].dtype: "));
}

HostTensor draw(const Init& init, const InitSpec& spec) {
  return eval([&](const Values& key) { return Values{init(spec).draw(random::Key::wrap(key[0]))}; },
              {random::key_words(1)})[0];
}

TEST(InitPerGroup, DrawsEachGroupWithItsOwnKeyAndFans) {
  const VarianceScaling by_out{.scale = 1, .fan = Fan::kOut};
  const InitPerGroup per_group{.num_groups = 4, .init = by_out};
  const InitSpec spec{.shape = {3, 5, 8}};
  const HostTensor got = draw(per_group, spec);
  const HostTensor expected = eval(
      [&](const Values& key) {
        Values parts;
        for (const random::Key& own : random::split_each(random::Key::wrap(key[0]), 4))
          parts.push_back(Init(by_out)({.shape = {3, 5, 2}}).draw(own));
        return Values{concatenate(parts, -1)};
      },
      {random::key_words(1)})[0];
  EXPECT_EQ(got, expected);
  EXPECT_EQ(draw(InitPerGroup{.num_groups = 1, .init = by_out}, spec), draw(by_out, spec));
  EXPECT_EQ(Init(per_group)(spec).text, "uniform(0, 1.0 / fan_out) in 4 groups");
}

// One group has the fan out 3 * 200 / 4: the draws are uniform up to sqrt(3 / fan out).
TEST(InitPerGroup, FanOutCountsOneGroup) {
  const HostTensor x =
      draw(InitPerGroup{.num_groups = 4, .init = VarianceScaling{.fan = Fan::kOut}},
           {.shape = {3, 100, 200}});
  double largest = 0;
  for (int64_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x.at(i)));
  const double bound = std::sqrt(3.0 / 150);
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 0.999 * bound);
}

TEST(InitPerGroup, AMistakeNamesTheParameter) {
  EXPECT_EQ(error_of([] { chain({.init = Init(InitPerGroup{.num_groups = 5})}); }),
            "root.first.weight: num_groups: must divide the last dim of the parameter, got 5 and "
            "shape [3, 2]");
}

}  // namespace
}  // namespace axle
