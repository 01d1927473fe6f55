#include "modifiers/sequence_parallel.h"

#include <gmock/gmock.h>

#include "modifiers/tiny_root_test.h"
#include "testing/error_of.h"

namespace axle {
namespace {

TEST(SequenceParallel, LaysBlocksAndTheEmbeddingOverTheAxes) {
  const std::string laid = ".@activation: [[data, expert, fsdp], [seq, model]] (new)\n";
  EXPECT_EQ(changes_by(SequenceParallel::Config{}),
            "model.decoder.emb" + laid + "model.decoder.layers" + laid +
                "model.decoder.layers.layer" + laid + "model.decoder.layers.layer.attention" +
                laid + "model.decoder.layers.layer.feed_forward" + laid);
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
