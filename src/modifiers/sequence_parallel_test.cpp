#include "modifiers/sequence_parallel.h"

#include <gmock/gmock.h>

#include "modifiers/tiny_root_test.h"
#include "testing/error_of.h"

namespace axle {
namespace {

TEST(SequenceParallel, LaysBlocksAndTheEmbeddingOverTheAxes) {
  const std::string laid = ".@activation: [[data, expert, fsdp], [seq, model]] (new)\n";
  const std::string layer = "model.decoder.layers.layer";
  EXPECT_EQ(changes_by(SequenceParallel::Config{}),
            "model.decoder.emb" + laid + layer + ".attention" + laid + layer + ".feed_forward" +
                laid + layer + laid + "model.decoder.layers" + laid);
}

TEST(SequenceParallel, WantsATreeWithBlocks) {
  TinyRoot root;
  root.model = {};
  EXPECT_EQ(error_of([&] {
              Child<Modifier>(SequenceParallel::Config{}).build({}, Scope{})->apply(root);
            }),
            "SequenceParallel: expected a tree with blocks, got none");
}

}  // namespace
}  // namespace axle
