#include "config/replace.h"

#include <gmock/gmock.h>

#include "config/example_test.h"
#include "testing/error_of.h"

namespace axle::example {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tower::Config tower() {
  return {.model_dim = 1,
          .norm = {Scale::Config{.factor = 5, .eps = 1e-3f}, {.dtype = Precision::kLow}},
          .output_norm = Scale::Config{.factor = 6},
          .layers = {Twice::Config{.inner = Scale::Config{.factor = 7}},
                     LoudScale::Config{.factor = 8}},
          .heads = {{"a", Scale::Config{.factor = 9}}}};
}

TEST(Replace, EveryMatchEverywhere) {
  Tower::Config cfg = tower();
  const RewriteReport report = replace_config<Scale>(cfg, Shift::Config{});
  EXPECT_THAT(report.matched, ElementsAre("norm", "output_norm", "layers[0].inner", "heads['a']"));
  EXPECT_THAT(report.carried,
              ElementsAre("norm.eps", "output_norm.eps", "layers[0].inner.eps", "heads['a'].eps"));
  EXPECT_THAT(report.dropped, ElementsAre("norm.factor", "output_norm.factor",
                                          "layers[0].inner.factor", "heads['a'].factor"));
  EXPECT_EQ(cfg.norm.get_if<Shift>()->eps, 1e-3f);
  EXPECT_EQ(cfg.norm.options.dtype, Precision::kLow) << "options belong to the slot";
  EXPECT_NE(cfg.layers[1].get_if<LoudScale>(), nullptr) << "exact type";
  EXPECT_EQ(cfg.output_norm->get_if<Shift>()->by, std::nullopt);
  cfg.norm.get_if<Shift>()->by = 4;
  EXPECT_EQ(cfg.output_norm->get_if<Shift>()->by, std::nullopt)
      << "each match has a clone of its own";
}

TEST(Replace, SetMeansChangedOrKept) {
  Tower::Config cfg = tower();
  replace_config<Scale>(cfg, Shift::Config{.eps = 0.5f}, {.at = "norm"});
  EXPECT_EQ(cfg.norm.get_if<Shift>()->eps, 0.5f) << "differs from the default: set";
  cfg = tower();
  replace_config<Scale>(cfg, Shift::Config{.eps = 1e-5f}, {.at = "norm"});
  EXPECT_EQ(cfg.norm.get_if<Shift>()->eps, 1e-3f)
      << "equals the default: the old value is carried over";
  cfg = tower();
  replace_config<Scale>(cfg, Shift::Config{.eps = 1e-5f}, {.keep = {"eps"}, .at = "norm"});
  EXPECT_EQ(cfg.norm.get_if<Shift>()->eps, 1e-5f) << "equals the default and is kept";
}

TEST(Replace, OfItselfIsTheIdentity) {
  Tower::Config cfg = tower();
  const RewriteReport report = replace_config<Scale>(cfg, Scale::Config{});
  EXPECT_EQ(diff(tower(), cfg), "");
  EXPECT_THAT(report.matched, ElementsAre());
  EXPECT_THAT(report.unchanged,
              ElementsAre("norm", "output_norm", "layers[0].inner", "heads['a']"));
}

TEST(Replace, Selectors) {
  Tower::Config cfg = tower();
  EXPECT_THAT(replace_config<Scale>(cfg, Shift::Config{}, {.derived = true}).matched,
              ElementsAre("norm", "output_norm", "layers[0].inner", "layers[1]", "heads['a']"));
  cfg = tower();
  EXPECT_THAT(replace_config<Scale>(cfg, Shift::Config{}, {.at = "layers[*].**"}).matched,
              ElementsAre("layers[0].inner"));
  cfg = tower();
  const auto big = [](const std::string&, const AnyConfig& c) {
    return c.get_if<Scale::Config>()->factor > 6;
  };
  EXPECT_THAT(replace_config<Scale>(cfg, Shift::Config{}, {.where = big}).matched,
              ElementsAre("layers[0].inner", "heads['a']"));
  cfg = tower();
  EXPECT_THAT(
      replace_config<Norm>(cfg, Shift::Config{}).matched,
      ElementsAre("norm", "output_norm", "layers[0].inner", "layers[0]", "layers[1]", "heads['a']"))
      << "a role: all its classes";
}

TEST(Replace, StructsAreSelectedButStay) {
  Tower::Config cfg = tower();
  std::vector<std::string> paths;
  EXPECT_EQ(for_each_match(cfg, select_by_name("Tower"),
                           [&](const std::string& path, const Slot&) { paths.push_back(path); }),
            1);
  EXPECT_THAT(paths, ElementsAre(""));
  EXPECT_EQ(error_of([&] { replace_config<Tower>(cfg, Shift::Config{}); }),
            "expected a slot for classes, got a struct that is always Tower");
}

TEST(Replace, MayContainItsTarget) {
  Tower::Config cfg = tower();
  replace_config<Scale>(cfg, Twice::Config{.inner = Scale::Config{}}, {.at = "norm"});
  EXPECT_EQ(cfg.norm.get_if<Twice>()->inner.get_if<Scale>()->factor, 2);
}

TEST(Replace, RootChildAndRootOfAnotherName) {
  Child<Norm> root = Twice::Config{.inner = Scale::Config{.factor = 3}};
  EXPECT_THAT(replace_config<Twice>(root, Shift::Config{}).matched, ElementsAre(""));
  EXPECT_NE(root.get_if<Shift>(), nullptr);
  wrap<Shift>(root, Twice::Config{}, &Twice::Config::inner);
  EXPECT_NE(root.get_if<Twice>()->inner.get_if<Shift>(), nullptr);
}

TEST(Replace, Functors) {
  Tower::Config cfg = tower();
  EXPECT_THAT(replace_config<Scaled>(cfg, Fixed{.dim = 3}).matched, ElementsAre("hidden_dim"));
  EXPECT_EQ(cfg.hidden_dim(99), 3);
}

TEST(Wrap, PutsTheOldConfigInside) {
  Tower::Config cfg = tower();
  const RewriteReport report = wrap<Scale>(cfg, Twice::Config{}, &Twice::Config::inner);
  EXPECT_THAT(report.matched, ElementsAre("norm", "output_norm", "layers[0].inner", "heads['a']"));
  EXPECT_EQ(cfg.norm.get_if<Twice>()->inner.get_if<Scale>()->factor, 5);
  EXPECT_EQ(cfg.norm.options.dtype, Precision::kLow);
  EXPECT_FALSE(cfg.norm.get_if<Twice>()->inner.options.dtype);
  EXPECT_EQ(cfg.layers[0].get_if<Twice>()->inner.get_if<Twice>()->inner.get_if<Scale>()->factor, 7);
}

TEST(Replace, ByName) {
  Tower::Config cfg = tower();
  ReplaceSpec spec{.select = select_by_name("Scale"),
                   .with = AnyConfig::of(Shift::Config{.eps = 1e-5f}),
                   .keep = {"eps"}};
  spec.select.at = "heads['*']";
  EXPECT_THAT(replace_config(cfg, spec).matched, ElementsAre("heads['a']"));
  EXPECT_EQ(cfg.heads["a"].get_if<Shift>()->eps, 1e-5f);
  cfg = tower();
  EXPECT_EQ(
      replace_config(cfg, {.select = select_by_name("Norm"), .with = spec.with}).matched.size(),
      6u);
  cfg = tower();
  const AnyConfig outer = AnyConfig::of(Twice::Config{});
  replace_config(cfg, {.select = select_by_name("Scale"), .with = outer, .wrap = "inner"});
  EXPECT_EQ(cfg.norm.get_if<Twice>()->inner.get_if<Scale>()->factor, 5);
  EXPECT_THAT(error_of([] { select_by_name("Scael"); }), HasSubstr("did you mean 'Scale'?"));
  EXPECT_EQ(error_of([&] {
              replace_config(cfg,
                             {.select = select_by_name("Scale"), .with = outer, .wrap = "iner"});
            }),
            "norm.inner: Twice.iner: no such field; did you mean 'inner'? (fields: inner)");
}

TEST(Replace, NoMatchIsAnErrorUnlessAllowed) {
  Tower::Config cfg{.norm = Shift::Config{}};
  EXPECT_EQ(error_of([&] { replace_config<Scale>(cfg, Shift::Config{}); }),
            "Scale: expected at least one match at '**', got none; did you mean 'Scaled'? "
            "(in the tree: Scaled, Shift)");
  EXPECT_EQ(error_of([&] { replace_config<Shift>(cfg, Scale::Config{}, {.at = "nrm"}); }),
            "Shift: expected at least one match at 'nrm', got none; did you mean 'norm'? "
            "(in the tree at: norm)");
  EXPECT_TRUE(replace_config<Scale>(cfg, Shift::Config{}, {.allow_none = true}).matched.empty());
}

TEST(Replace, MisfitNamesPathAndRoles) {
  Tower::Config cfg = tower();
  EXPECT_EQ(error_of([&] { replace_config<Scale>(cfg, Lines::Config{}); }),
            "norm: expected a Norm, got Lines, which is a Source");
  EXPECT_THAT(error_of([&] { replace_config<Scaled>(cfg, Lines::Config{}); }),
              HasSubstr("hidden_dim: expected a function of signature long (long), got Lines"));
}

}  // namespace
}  // namespace axle::example
