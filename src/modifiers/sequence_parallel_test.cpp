#include <gmock/gmock.h>

#include "modifiers/mesh_modifiers.h"
#include "modifiers/tiny_step_test.h"
#include "testing/error_of.h"

namespace axle {
namespace {

TEST(SequenceParallel, ShardsActivationsOfBlocksAndEmbedding) {
  const std::string laid = ".@activation: [[data, expert, fsdp], [seq, model]] (new)\n";
  const std::string layer = "model.decoder.layers.layer";
  EXPECT_EQ(changes_by(SequenceParallel::Config{}),
            "model.decoder.emb" + laid + layer + ".attention" + laid + layer + ".feed_forward" +
                laid + layer + laid + "model.decoder.layers" + laid);
}

TEST(SequenceParallel, MovesConstraintsAndKeepsTheLoss) {
  const std::string tokens = "[[data, expert, fsdp], seq]",
                    divided = "[[data, expert, fsdp], [seq, model]]";
  const TinyStep before = step_of({}), after = step_of(modified_by(SequenceParallel::Config{}));
  // The results of the embedding, of its lookup, of two norms before a body, of four blocks and of
  // the norm before the head. The embedding's and the blocks' move.
  EXPECT_EQ(count_constraints(*before.forward, tokens), 9);
  EXPECT_EQ(count_constraints(*before.forward, divided), 0);
  EXPECT_EQ(count_constraints(*after.forward, tokens), 4);
  EXPECT_EQ(count_constraints(*after.forward, divided), 5);
  EXPECT_EQ(count_ops(*after.forward, "sharding_constraint"),
            count_ops(*before.forward, "sharding_constraint"));
  EXPECT_EQ(after.loss, before.loss);
}

TEST(SequenceParallel, NeedsATreeWithBlocks) {
  TinyRoot root;
  root.model = {};
  EXPECT_EQ(error_of([&] {
              Child<Modifier>(SequenceParallel::Config{}).build({}, Scope{})->apply(root);
            }),
            "SequenceParallel: expected a tree with blocks, got none");
}

}  // namespace
}  // namespace axle
