// Tests training steps of pipelines on a plugin: virtual devices give what one device gives, and
// what the layers without stages give.
#include "config/replace.h"
#include "layers/attention/biases/distance_biases.h"
#include "layers/attention/biases/logit_bias.h"
#include "layers/blocks/stack.h"
#include "layers/experts/linear_routers.h"
#include "layers/experts/moe.h"
#include "layers/pipeline/pipeline.h"
#include "layers/pipeline/stage_loop.h"
#include "nn/remat_policies.h"
#include "testing/host_tensors.h"
#include "testing/plugin_fixture.h"
#include "train/step_run_test.h"
#include "train/tiny_config_test.h"

namespace axle {
namespace {

constexpr int64_t kLayers = 4;

enum class Kind : uint8_t { kDense, kExperts, kByParts, kDropped, kDroppedByParts };

// Layers with a bias of positions.
TransformerLayer::Config biased(Child<LogitBias> bias, bool by_parts) {
  TransformerLayer::Config out = tiny_layer();
  auto* attention = out.attention.get_if<PreNorm>()->body.get_if<Attention>();
  attention->bias = std::move(bias);
  if (by_parts)
    attention->core = SoftmaxAttention::Config{.blocks = {.from = 1, .queries = 4, .keys = 4}};
  return out;
}
const SharedBias::Config kShared{.inner = T5Bias::Config{.num_buckets = 8, .max_distance = 12}};
const Child<LogitBias> kBorrowed = BorrowedBias::Config{};

TransformerLayer::Config layer(Kind kind) {
  TransformerLayer::Config out = tiny_layer();
  SoftmaxAttention::Config core;
  if (kind == Kind::kByParts || kind == Kind::kDroppedByParts)
    core.blocks = {.from = 1, .queries = 4, .keys = 4};
  if (kind == Kind::kDropped || kind == Kind::kDroppedByParts)
    core.dropout = Dropout::Config{.rate = 0.3};
  out.attention.get_if<PreNorm>()->body.get_if<Attention>()->core = core;
  if (kind == Kind::kExperts) {
    out.feed_forward =
        PreNorm::Config{.body = MoE::Config{.num_experts = 4,
                                            .router = BalancedRouter::Config{.top_k = 2},
                                            .hidden_dim = FixedDim{16}}};
  }
  return out;
}

Child<Block> pipeline(int64_t rounds, Kind kind = Kind::kDense) {
  Pipeline::Config out{.num_layers = kLayers, .num_microbatches = 4, .layer = layer(kind)};
  out.layer.options.remat = SaveDots{};
  if (rounds > 1) out.schedule = Circular::Config{.num_rounds = rounds};
  return out;
}

class PipelineOnPlugin : public PluginTest {
 protected:
  PipelineOnPlugin() : PluginTest(8) {}

  struct History {
    std::vector<double> losses;
    Tree<HostTensor> state;
    bool by_blocks = false;  // attention is
  };
  History history(const Child<Block>& layers, const std::string& mesh) {
    StepRunOptions options{.model = tiny_model(layers),
                           .learner = tiny_learner(),
                           .batch = batch_spec(8, 16),
                           .mesh = {}};
    from_text(mesh, options.mesh);
    // Near zero, the last bits of a gradient would decide the sign of AdamW's update.
    options.learner.get_if<Learner>()->optimizer.get_if<AdamW>()->eps = 1e-2;
    StepRun run(*runtime_, options);
    run.set_state(run.initial_state(1));
    SyntheticInput input({.seq_len = 16, .batch_size = 8}, {.vocab_size = 32, .seed = 2}, {});
    History out;
    for (int i = 0; i < 3; ++i) out.losses.push_back(run.step(input.next()->tensors).at("loss"));
    out.state = run.state();
    out.by_blocks = run.attends_by_blocks();
    return out;
  }
  static void expect_same_by_blocks(const History& actual, const History& expected,
                                    const std::string& where) {
    EXPECT_TRUE(actual.by_blocks && !expected.by_blocks) << where;
    expect_same(actual, expected, where);
  }
  static void expect_same(const History& actual, const History& expected,
                          const std::string& where) {
    for (size_t i = 0; i < expected.losses.size(); ++i)
      EXPECT_NEAR(actual.losses[i], expected.losses[i], 1e-5 * expected.losses[i]) << where;
    ASSERT_EQ(actual.state.size(), expected.state.size()) << where;
    for (const auto& [path, value] : expected.state) {
      if (is_float(value.dtype())) {
        EXPECT_LE(testing::relative_difference(actual.state.at(path), value), 1e-4)
            << where << ", " << path;
      }
    }
  }
};

TEST_F(PipelineOnPlugin, ResultsAreThoseOfRepeatOnAnyMesh) {
  const History expected =
      history(Repeat::Config{.num_layers = kLayers, .layer = layer(Kind::kDense)}, "");
  for (const char* mesh : {"", "pipeline=2,data=2,model=2", "pipeline=4,fsdp=2"})
    expect_same(history(pipeline(1), mesh), expected, mesh);
  expect_same(history(pipeline(2), "pipeline=2,fsdp=4"), expected, "two rounds");
}

using WeeklyPipelineOnPlugin = PipelineOnPlugin;

// Without an axis for stages, each microbatch of two rows is that of eight devices.
TEST_F(WeeklyPipelineOnPlugin, HasOneStageWithoutItsAxis) {
  const History expected =
      history(Repeat::Config{.num_layers = kLayers, .layer = layer(Kind::kDense)}, "");
  for (const char* mesh : {"data=8", "fsdp=8", "data=4,seq=2"})
    expect_same(history(pipeline(1), mesh), expected, mesh);
}

// The rows of attention that is computed by blocks, which long rows are.
TEST_F(PipelineOnPlugin, ComputesAttentionByBlocks) {
  const History expected =
      history(Repeat::Config{.num_layers = kLayers, .layer = layer(Kind::kDense)}, "");
  for (const char* mesh : {"pipeline=2,data=2,model=2", "pipeline=2,seq=2,fsdp=2"})
    expect_same_by_blocks(history(pipeline(1, Kind::kByParts), mesh), expected, mesh);
  const History dropped = history(pipeline(1, Kind::kDropped), "");
  EXPECT_GT(std::abs(dropped.losses[0] - expected.losses[0]), 1e-4);
  const char* mesh = "pipeline=2,seq=2,fsdp=2";
  expect_same_by_blocks(history(pipeline(1, Kind::kDroppedByParts), mesh), dropped, "dropped");
}

// The owner stands before the pipeline, as in T5.
TEST_F(WeeklyPipelineOnPlugin, TakesABiasThatLayersShare) {
  const auto layers = [](const auto& loop, bool by_parts) -> Child<Block> {
    auto of_borrowers = loop;
    of_borrowers.num_layers = 2;
    of_borrowers.layer = biased(kBorrowed, by_parts);
    return Stacked::Config{.num_layers = 2, .layers = {biased(kShared, by_parts), of_borrowers}};
  };
  const Pipeline::Config stages{.num_microbatches = 4};
  const History expected = history(layers(Repeat::Config{}, false), "");
  for (const char* mesh : {"", "fsdp=2,seq=2,model=2"})
    expect_same_by_blocks(history(layers(Repeat::Config{}, true), mesh), expected, mesh);
  const char *by_data = "pipeline=2,data=2,model=2", *by_rows = "pipeline=2,seq=2,fsdp=2";
  expect_same(history(layers(stages, false), by_data), expected, by_data);
  expect_same_by_blocks(history(layers(stages, true), by_rows), expected, by_rows);
}

// Each layer of a pipeline is an owner and a borrower.
TEST_F(PipelineOnPlugin, SharesABiasInALayer) {
  const Stacked::Config layer{.num_layers = 2,
                              .layers = {biased(kShared, false), biased(kBorrowed, false)}};
  const History expected = history(Repeat::Config{.num_layers = 2, .layer = layer}, "");
  const char* mesh = "pipeline=2,data=2,model=2";
  const Pipeline::Config actual{.num_layers = 2, .num_microbatches = 4, .layer = layer};
  expect_same(history(actual, mesh), expected, mesh);
}

TEST_F(PipelineOnPlugin, MovesExpertsAndTheirState) {
  const History expected = history(pipeline(1, Kind::kExperts), "");
  const char* mesh = "pipeline=2,expert=2,data=2";
  expect_same(history(pipeline(1, Kind::kExperts), mesh), expected, mesh);
}

}  // namespace
}  // namespace axle
