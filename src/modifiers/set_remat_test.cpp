#include <gtest/gtest.h>

#include "modifiers/mesh_modifiers.h"
#include "modifiers/tiny_step_test.h"
#include "testing/error_of.h"

namespace axle {
namespace {

TEST(SetRemat, SetsThePolicyOfTheSlotsThatMatch) {
  EXPECT_EQ(changes_by(remat("**.layer", save("qkv", "attention_output"))),
            "model.decoder.layers.layer.@remat: SaveNames (new)\n"
            "model.decoder.layers.layer.@remat.names: ['qkv', 'attention_output'] (new)\n"
            "model.decoder.layers.layer.@remat.offload: [] (new)\n"
            "model.decoder.layers.layer.@remat.optional: [] (new)\n");
}

TEST(SetRemat, NoPolicyRestoresTheDefault) {
  TinyRoot root;
  Child<Modifier>(remat("**.layer", SaveDots{})).build({}, Scope{})->apply(root);
  Child<Modifier>(SetRemat::Config{.at = "**.layer"}).build({}, Scope{})->apply(root);
  EXPECT_EQ(diff(TinyRoot{}, root), "");
}

TEST(SetRemat, ChangesNeitherTheLossNorTheGradients) {
  const SetRemat::Config modifier = remat("**.layer", save("qkv", "attention_output"));
  const TinyStep before = step_of({}), after = step_of(modified_by(modifier));
  EXPECT_EQ(count_ops(*before.forward, "remat"), 0);
  EXPECT_EQ(count_ops(*after.forward, "remat"), 1);
  EXPECT_EQ(after.loss, before.loss);
  EXPECT_EQ(after.gradients, before.gradients);
}

TEST(SetRemat, NamesAPatternThatMatchesNothing) {
  EXPECT_EQ(error_of([] { changes_by(remat("**.lair", SaveDots{})); }),
            "SetRemat.at: expected the path of a layer slot, got '**.lair', which matches none");
}

}  // namespace
}  // namespace axle
