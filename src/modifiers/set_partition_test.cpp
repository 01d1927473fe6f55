#include <gtest/gtest.h>

#include "modifiers/mesh_modifiers.h"
#include "modifiers/tiny_step_test.h"
#include "testing/error_of.h"

namespace axle {
namespace {

TEST(SetPartition, SetsTheOptionOfTheSlotsThatMatch) {
  EXPECT_EQ(
      changes_by(SetPartition::Config{.at = "**.up", .partition = PartitionSpec{{{}, "data"}}}),
      "model.decoder.layers.layer.feed_forward.body.up.@partition: [None, data] (new)\n");
}

std::string partition_of_embedding(const SetPartition::Config& modifier) {
  const auto specs = modified_by(modifier).model.build({}, Scope{.path = "model"})->param_specs();
  return to_text(specs.at("model/decoder/emb/weight").partition());
}

TEST(SetPartition, PartitionReachesTheParameter) {
  EXPECT_EQ(partition_of_embedding(parallel_vocabulary("model.decoder.emb")),
            "[model, [expert, fsdp, seq]]");
  EXPECT_EQ(partition_of_embedding(whole_rows("model.decoder.emb")),
            "[[model, expert, fsdp, seq], None]");
}

TEST(SetPartition, MovesTheConstraintOfTheLookupAndKeepsTheLoss) {
  const std::string by_columns = "[None, model]", by_rows = "[model, None]";
  const TinyStep before = step_of({}),
                 after = step_of(modified_by(whole_rows("model.decoder.emb")));
  EXPECT_EQ(count_constraints(*before.forward, by_columns), 1);
  EXPECT_EQ(count_constraints(*before.forward, by_rows), 0);
  EXPECT_EQ(count_constraints(*after.forward, by_columns), 0);
  EXPECT_EQ(count_constraints(*after.forward, by_rows), 1);
  EXPECT_EQ(after.loss, before.loss);
}

TEST(SetPartition, NamesAPatternThatMatchesNothing) {
  EXPECT_EQ(error_of([] { changes_by(SetPartition::Config{.at = "model.decoder.embedding"}); }),
            "SetPartition.at: expected the path of a layer slot, got 'model.decoder.embedding', "
            "which matches none");
}

}  // namespace
}  // namespace axle
