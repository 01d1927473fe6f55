#include "modifiers/set_partition.h"

#include <gtest/gtest.h>

#include "modifiers/tiny_root_test.h"
#include "testing/error_of.h"

namespace axle {
namespace {

TEST(SetPartition, SetsTheOptionOfTheSlotsThatMatch) {
  EXPECT_EQ(
      changes_by(SetPartition::Config{.at = "**.up", .partition = PartitionSpec{{{}, "data"}}}),
      "model.decoder.layers.layer.feed_forward.body.up.@partition: [None, data] (new)\n");
}

TEST(SetPartition, ReachesTheParameter) {
  TinyRoot root;
  Child<Modifier>(parallel_vocabulary("model.decoder.emb")).build({}, Scope{})->apply(root);
  const auto specs = root.model.build({}, Scope{.path = "model"})->param_specs();
  EXPECT_EQ(to_text(specs.at("model/decoder/emb/weight").partition()),
            "[model, [expert, fsdp, seq]]");
}

TEST(SetPartition, NamesAPatternThatMatchesNothing) {
  EXPECT_EQ(error_of([] { changes_by(SetPartition::Config{.at = "model.decoder.embedding"}); }),
            "SetPartition.at: expected the path of a layer slot, got 'model.decoder.embedding', "
            "which matches none");
}

}  // namespace
}  // namespace axle
