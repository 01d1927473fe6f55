#include "config/walk.h"

#include <gmock/gmock.h>

#include "config/example_test.h"
#include "config/print.h"
#include "testing/error_of.h"

namespace axle::example {
namespace {

using ::testing::ElementsAre;

TEST(SplitConfigPath, SplitsAtDotsAndBrackets) {
  EXPECT_THAT(split_config_path("a.m['k.e'].v[0].@dtype"),
              ElementsAre("a", "m", "['k.e']", "v", "[0]", "@dtype"));
  EXPECT_THAT(split_config_path("m[\"k.e\"][**.a].b"),
              ElementsAre("m", "[\"k.e\"]", "[**.a]", "b"));
  EXPECT_THAT(split_config_path(""), ElementsAre());
}

TEST(FindSlot, FindsFieldsElementsAndOptions) {
  Tower::Config cfg{.model_dim = 64};
  cfg.heads["a"] = Scale::Config{.factor = 5};
  cfg.layers.push_back(Scale::Config{.factor = 9});
  cfg.norm.options.dtype = Precision::kLow;
  const auto text_at = [&](std::string_view path) { return to_string(find_slot(cfg, path)); };
  EXPECT_EQ(text_at("model_dim"), "64\n");
  EXPECT_EQ(text_at("layers[0].factor"), "9.0\n");
  EXPECT_EQ(text_at("heads.a.factor"), "5.0\n");
  EXPECT_EQ(text_at("heads['a'].factor"), "5.0\n");
  EXPECT_EQ(text_at("norm.@dtype"), "low\n");
}

TEST(FindSlot, CreatesNothing) {
  Tower::Config cfg;
  const std::string before = to_string(cfg);
  EXPECT_EQ(axle::error_of([&] { find_slot(cfg, "spare.size", "model"); }),
            "model.spare.size: expected model.spare to be set first, got none");
  EXPECT_EQ(axle::error_of([&] { find_slot(cfg, "heads.a", "model"); }),
            "model.heads.a: no such key; it has none");
  EXPECT_EQ(to_string(cfg), before);
}

TEST(Unquoted, TakesOnePairOfEqualQuotes) {
  EXPECT_EQ(unquoted("'a'"), "a");
  EXPECT_EQ(unquoted("\"a'\""), "a'");
  EXPECT_EQ(unquoted("'a\""), "'a\"");
  EXPECT_EQ(unquoted("'"), "'");
  EXPECT_EQ(unquoted("''"), "");
}

}  // namespace
}  // namespace axle::example
