// Canonical text, differences, traversal and completeness of config trees.
#include "config/print.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "config/example_test.h"
#include "testing/error_of.h"

namespace axle::example {
namespace {

using ::testing::ElementsAre;

TEST(Print, EveryFieldOfAFullTree) {
  EXPECT_EQ(to_string(full_tower()), R"(model_dim: 64
hidden_dim: twice
extra_dim: Fixed
extra_dim.dim: 5
norm: Twice
norm.inner: Scale
norm.inner.factor: 0.1
norm.inner.eps: 1e-06
norm.@dtype: low
output_norm: Shift
output_norm.eps: 1e-05
output_norm.factor: 3
output_norm.by: -3
source: Lines
source.path: 'none'
layers[0]: Scale
layers[0].factor: 2.0
layers[0].eps: 1e-06
layers[1]: Twice
layers[1].inner: Scale
layers[1].inner.factor: 5.0
layers[1].inner.eps: 1e-06
heads['a']: Shift
heads['a'].eps: 1e-05
heads['a'].factor: 3
heads['a'].by: none
heads['b.c']: Scale
heads['b.c'].factor: 2.0
heads['b.c'].eps: 1e-30
mesh[0].name: 'data'
mesh[0].size: -1
mesh[1].name: 'model'
mesh[1].size: 2
spare.name: 'it\'s: a #1 "na\\me"\nline'
spare.size: -1
sizes: []
words: ['none', '', '~', '5', 'true', 'ünï', 'a b', '- x']
weights['large']: 1e+30
weights['x y']: 0.1
label: 'none'
precision: low
axes: [data, fsdp]
tied: true
small: 255
)");
}

TEST(Print, DefaultsAndUnset) {
  const std::string text = to_string(Tower::Config{}, "model");
  EXPECT_THAT(text, ::testing::StartsWith("model.model_dim: REQUIRED\nmodel.hidden_dim: Scaled\n"));
  for (const char* line :
       {"model.extra_dim: none\n", "model.source: REQUIRED\n", "model.heads: {}\n",
        "model.layers: []\n", "model.sizes: [1, 2]\n", "model.spare: none\n"}) {
    EXPECT_THAT(text, ::testing::HasSubstr(line));
  }
}

TEST(Print, RootChildHasALineOfItsOwn) {
  const Child<Norm> root{Scale::Config{}, {.partition = {{"data"}}}};
  EXPECT_EQ(to_string(root), "Scale\nfactor: 2.0\neps: 1e-06\n@partition: [data]\n");
  EXPECT_EQ(to_string(root, "norm"),
            "norm: Scale\nnorm.factor: 2.0\nnorm.eps: 1e-06\nnorm.@partition: [data]\n");
  EXPECT_EQ(to_string(AnyConfig::of(Lines::Config{.path = "x"})), "path: 'x'\n");
}

TEST(Diff, NamesChangedGoneAndNew) {
  Tower::Config a{.model_dim = 1}, b{.model_dim = 2};
  b.norm = Shift::Config{.eps = 1e-6f};
  EXPECT_EQ(diff(a, b, "m"),
            "m.model_dim: 1 -> 2\n"
            "m.norm: Scale -> Shift\n"
            "m.norm.factor: 2.0 -> 3\n"
            "m.norm.by: none (new)\n");
  b = a;
  b.mesh = {{.name = "data"}};
  EXPECT_EQ(diff(a, b), "mesh: [] (gone)\nmesh[0].name: 'data' (new)\nmesh[0].size: -1 (new)\n");
  EXPECT_EQ(diff(a, a), "");
  EXPECT_TRUE(changes(a, a).empty());
}

struct InParts {
  int64_t size = 4;
  std::vector<Axis> parts = {};
  static constexpr auto kKeepsResults = std::to_array<std::string_view>({"parts"});
  AXLE_CONFIG(InParts, size, parts)
};
AXLE_REGISTER(InParts)

TEST(Diff, FieldsThatKeepTheResultsAreMarked) {
  for (const ConfigChange& change : changes(InParts{}, InParts{.size = 8, .parts = {{}}}))
    EXPECT_EQ(change.keeps_results, change.path != "size") << change.path;
  EXPECT_EQ(diff(InParts{}, InParts{.size = 8, .parts = {{}}}),
            "size: 4 -> 8\nparts: [] (gone)\nparts[0].name: '' (new)\nparts[0].size: -1 (new)\n");
  ConfigType type = InParts::config_type();
  EXPECT_EQ(error_of([&] {
              detail::mark_keeps_results(type, {{"size", "part"}});
            }),
            "AXLE_CONFIG(InParts, ...): kKeepsResults: no such field 'part'");
}

TEST(Ranges, AreCheckedInATreeOfCxx) {
  Tower::Config cfg = full_tower();
  cfg.mesh[0].size = 0;
  cfg.layers.push_back(Bounded::Config{.rate = 2, .every = 0});
  cfg.heads["../x"] = Scale::Config{};
  const std::string last = fmt::format("layers[{}]", cfg.layers.size() - 1);
  EXPECT_THAT(out_of_range(cfg, "m"),
              ::testing::UnorderedElementsAre(
                  "m." + last + ".rate: expected a number of at least 0 and below 1, got 2.0",
                  "m." + last + ".every: expected an integer of at least 1, got 0",
                  ::testing::StartsWith("m.heads: expected a name of 1 to 100 letters")));
  EXPECT_THAT(axle::error_of([&] { check_complete(cfg); }),
              ::testing::ContainsRegex("rate.*\n.*every"))
      << "all in one message";
}

TEST(Ranges, AreCheckedBeforeAModuleIsBuilt) {
  const Child<Norm> norm = Bounded::Config{.rate = 1};
  EXPECT_EQ(axle::error_of([&] { norm.build({.input_dim = 1}, {.path = "a.b"}); }),
            "a.b.rate: expected a number of at least 0 and below 1, got 1.0");
  const Child<Norm> good = Bounded::Config{.rate = 0.5, .every = 3};
  EXPECT_EQ(good.build({.input_dim = 1}, {.path = "a"})->apply(8), 4 * 3);
}

TEST(Missing, ListsEverythingAtOnce) {
  Tower::Config cfg{.layers = {Twice::Config{}, Scale::Config{}}, .heads = {{"a", {}}}};
  cfg.hidden_dim = {};
  cfg.output_norm = Twice::Config{};
  EXPECT_THAT(missing(cfg, "m"), ElementsAre("m.model_dim", "m.hidden_dim", "m.output_norm.inner",
                                             "m.source", "m.layers[0].inner", "m.heads['a']"));
  EXPECT_TRUE(missing(full_tower()).empty());
  EXPECT_NO_THROW(check_complete(full_tower()));
  const Child<Norm> empty;
  EXPECT_EQ(error_of([&] { check_complete(empty, "model.norm"); }),
            "REQUIRED but not set: model.norm");
}

TEST(Walk, EntersBeforeAndLeavesAfterChildren) {
  Child<Norm> root = Twice::Config{.inner = Scale::Config{}};
  std::vector<std::string> seen;
  walk(
      root, [&](const std::string& path, const Slot&) { seen.push_back("+" + path); },
      [&](const std::string& path, const Slot&) { seen.push_back("-" + path); }, "r");
  EXPECT_THAT(
      seen, ElementsAre("+r", "+r.inner", "+r.inner.factor", "-r.inner.factor", "+r.inner.eps",
                        "-r.inner.eps", "+r.inner.@dtype", "-r.inner.@dtype", "+r.inner.@partition",
                        "-r.inner.@partition", "-r.inner", "+r.@dtype", "-r.@dtype",
                        "+r.@partition", "-r.@partition", "-r"));
}

TEST(Walk, ForEachVisitsEveryConfigOfAType) {
  Tower::Config cfg = full_tower();
  std::vector<std::string> paths;
  for_each_config<Scale>(cfg, [&](const std::string& path, Scale::Config& scale) {
    paths.push_back(path);
    scale.factor = 1;
  });
  EXPECT_THAT(paths, ElementsAre("norm.inner", "layers[0]", "layers[1].inner", "heads['b.c']"));
  EXPECT_EQ(cfg.layers[0].get_if<Scale>()->factor, 1);
  int towers = 0;
  for_each_config<Tower>(cfg, [&](const std::string&, Tower::Config&) { ++towers; });
  EXPECT_EQ(towers, 1);
}

}  // namespace
}  // namespace axle::example
