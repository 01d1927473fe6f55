#include <gmock/gmock.h>

#include "layers/norms/norm.h"
#include "modifiers/field_modifiers.h"
#include "modifiers/mesh_modifiers.h"
#include "modifiers/modifier.h"
#include "modifiers/tiny_root_test.h"
#include "testing/error_of.h"

namespace axle {
namespace {

const ReplaceClass::Config kLayerNorms{.replace = "RMSNorm", .with = "LayerNorm"};

TEST(Chain, AppliesModifiersInOrder) {
  const SetFields::Config steps{.set = {{"max_steps", "5"}}};
  const std::string first = changes_by(kLayerNorms), second = changes_by(steps);
  EXPECT_EQ(changes_by(Chain::Config{.modifiers = {kLayerNorms, steps}}), first + second);
  // The second replaces what the first has put there.
  const ReplaceClass::Config back{.replace = "LayerNorm", .with = "RMSNorm"};
  TinyRoot root;
  const auto report =
      apply_modifier(Chain::Config{.modifiers = {kLayerNorms, back}}, "modify[0]", root);
  ASSERT_EQ(report.size(), 2u);
  EXPECT_EQ(report[0].report.matched, report[1].report.matched);
  EXPECT_EQ(report[0].report.matched.size(), 3u);
}

TEST(Chain, ReportsTheMistakesOfItsModifiers) {
  EXPECT_EQ(error_of([] { changes_by(Chain::Config{}); }),
            "Chain.modifiers: expected at least one modifier, got none");
  const SetRemat::Config nowhere = remat("**.lair", SaveDots{});
  EXPECT_EQ(error_of([&] {
              changes_by(Chain::Config{.modifiers = {kLayerNorms, nowhere}});
            }),
            "SetRemat.at: expected the path of a layer slot, got '**.lair', which matches none; "
            "correct it, or set '@allow_none: true'");
}

TEST(Chain, AllowsItsModifiersToFindNothing) {
  const SetRemat::Config nowhere = remat("**.lair", SaveDots{});
  const Child<Modifier> chain = {Chain::Config{.modifiers = {nowhere, kLayerNorms}},
                                 {.allow_none = true}};
  TinyRoot root;
  const std::vector<Rewrite> rewrites = apply_modifier(chain, "modify", root);
  ASSERT_EQ(rewrites.size(), 2u);
  EXPECT_EQ(rewrites[0].what, "SetRemat");
  EXPECT_TRUE(rewrites[0].report.matched.empty());
  EXPECT_EQ(rewrites[1].report.matched.size(), 3u);
}

}  // namespace
}  // namespace axle
