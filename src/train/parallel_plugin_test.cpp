// Tests the ways of sharding a training step over eight virtual devices: each gives the same result
// as one device.
#include <gtest/gtest.h>

#include "config/set.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/models/causal_lm.h"
#include "modifiers/mesh_modifiers.h"
#include "nn/remat_policies.h"
#include "testing/host_tensors.h"
#include "testing/plugin_fixture.h"
#include "train/config/run_modules.h"
#include "train/step_run_test.h"
#include "train/tiny_config_test.h"

namespace axle {
namespace {

constexpr int kNumSteps = 20;

struct Way {
  const char* mesh;
  bool parallel_vocabulary = false, sequence_parallel = false, whole_rows = false;
  // Attention by blocks and the loss by chunks, as of long rows.
  bool by_parts = false;
  const char* mixer = "";  // fields of attention, or another mixer; in YAML
};
// Returns a text for test names and messages.
std::string to_text(const Way& way) {
  return std::string(way.mesh) + (way.parallel_vocabulary ? ", parallel vocabulary" : "") +
         (way.sequence_parallel ? ", sequence parallel" : "") +
         (way.whole_rows ? ", whole rows" : "") + (way.by_parts ? ", by parts, " : ", ") +
         way.mixer;
}

// Two layers with eight heads, dropout, also of the weights of attention, and remat;
// `grouped` uses grouped queries.
Trainer::Config config_of(const Way& way, bool grouped) {
  TransformerLayer::Config layer = tiny_layer(0.1);
  auto* attention = layer.attention.get_if<PreNorm>()->body.get_if<Attention>();
  attention->num_heads = 8;
  attention->num_kv_heads = grouped ? 4 : 8;
  if (grouped) attention->qkv = RoPE::Config{.inner = FusedGroupedQKV::Config{}};
  attention->core = SoftmaxAttention::Config{.dropout = Dropout::Config{.rate = 0.1}};
  if (*way.mixer) set(layer, "attention.body", way.mixer);
  if (way.by_parts) set(layer, "attention.body.core.blocks", "{from: 1, queries: 4, keys: 4}");
  layer.feed_forward.get_if<PreNorm>()->body.get_if<FeedForward>()->hidden_dim = FixedDim{64};
  Repeat::Config layers{.num_layers = 2, .layer = layer};
  layers.layer.options.remat = SaveNames{.names = {"*_proj"}};
  Trainer::Config cfg = tiny_config();
  cfg.model = CausalLM::Config{
      .decoder = Decoder::Config{.model_dim = 32, .vocab_size = 64, .layers = layers}};
  if (way.by_parts) cfg.model.get_if<CausalLM>()->loss_chunk_len = 6;
  // AdamW's update of an element is a quotient of its moments. With the usual eps, the last bits of
  // a gradient that is nearly zero decide the sign of its update, and two runs would differ by
  // whole steps.
  cfg.learner.get_if<Learner>()->optimizer.get_if<AdamW>()->eps = 1e-2;
  from_text(way.mesh, cfg.mesh);
  if (way.parallel_vocabulary)
    SetPartition(axle::parallel_vocabulary("model.decoder.emb"), {}, {}).apply(cfg);
  if (way.whole_rows) SetPartition(axle::whole_rows("model.decoder.emb"), {}, {}).apply(cfg);
  if (way.sequence_parallel) SequenceParallel({}, {}, {}).apply(cfg);
  return cfg;
}

class Parallel : public PluginTest {
 protected:
  Parallel() : PluginTest(8) {}

  std::unique_ptr<StepRun> start(const Trainer::Config& cfg) {
    auto run = std::make_unique<StepRun>(*runtime_,
                                         StepRunOptions{.model = cfg.model,
                                                        .learner = cfg.learner,
                                                        .batch = batch_spec(8, 16),
                                                        .mesh = cfg.mesh,
                                                        .batch_partition = cfg.batch_partition});
    run->set_state(run->initial_state(1));
    return run;
  }
  struct History {
    std::vector<double> values;  // losses and gradient norms
    Tree<HostTensor> gradients;  // first moments after one step, proportional to the gradient
    Tree<HostTensor> state;      // after the last step
    bool by_blocks = false;      // attention is
  };
  History history(const Trainer::Config& cfg) {
    const auto run = start(cfg);
    SyntheticInput input({.seq_len = 16, .batch_size = 8}, {.vocab_size = 64, .seed = 2}, {});
    History out;
    for (int i = 0; i < kNumSteps; ++i) {
      const Tree<double> metrics = run->step(input.next()->tensors);
      out.values.push_back(metrics.at("loss"));
      out.values.push_back(metrics.at("grad_norm"));
      if (i > 0) continue;
      for (auto& [path, value] : run->state()) {
        if (path.starts_with("learner/optimizer/m/")) out.gradients.emplace(path, value);
      }
    }
    out.state = run->state();
    out.by_blocks = run->attends_by_blocks();
    return out;
  }
  // Sums in another order differ in their last bits, by about 1e-7, and twenty steps accumulate
  // these differences. The largest seen so far: 5e-7 of a parameter's largest element, 1.5e-6 of a
  // moment's.
  void expect_equal_state(const Tree<HostTensor>& actual, const Tree<HostTensor>& expected,
                          const std::string& where) {
    int num_parameters = 0;
    for (const auto& [path, value] : expected) {
      num_parameters += path.starts_with("model/");
      const HostTensor& ours = actual.at(path);
      if (!is_float(value.dtype())) {
        EXPECT_EQ(ours, value) << where << ", " << path;
      } else {
        EXPECT_LE(testing::relative_difference(ours, value), 1e-5) << where << ", " << path;
      }
    }
    EXPECT_GE(num_parameters, 9);
  }
  void expect_equal_to_one_device(const std::vector<Way>& ways, bool grouped) {
    const History expected = history(config_of({.mesh = "", .mixer = ways[0].mixer}, grouped));
    EXPECT_LT(expected.values[2 * kNumSteps - 2], expected.values[0] - 0.1);  // it learns
    EXPECT_GE(expected.gradients.size(), 9u);
    for (const Way& way : ways) {
      const History actual = history(config_of(way, grouped));
      EXPECT_EQ(actual.by_blocks, way.by_parts) << to_text(way);
      for (size_t i = 0; i < actual.values.size(); ++i) {
        EXPECT_NEAR(actual.values[i], expected.values[i], 1e-5 * expected.values[i])
            << to_text(way) << ", value " << i;
      }
      for (const auto& [path, value] : actual.gradients) {
        EXPECT_LE(testing::relative_difference(value, expected.gradients.at(path)), 1e-5)
            << to_text(way) << ", " << path;
      }
      expect_equal_state(actual.state, expected.state, to_text(way));
    }
  }
};

TEST_F(Parallel, OneAxisAgreesWithOneDevice) {
  expect_equal_to_one_device({{"data=8"}, {"fsdp=8"}, {"model=8"}, {"seq=8"}}, false);
}

using WeeklyParallel = Parallel;

TEST_F(WeeklyParallel, OtherFormsOfOneAxisAgreeWithOneDevice) {
  expect_equal_to_one_device({{"model=8", true}, {"model=8", true, true}, {"expert=8"}}, false);
}

TEST_F(Parallel, SeveralAxes) {
  expect_equal_to_one_device({{"data=2,fsdp=2,model=2", true, true}, {"data=2,seq=2,model=2"}},
                             false);
}

TEST_F(WeeklyParallel, SeveralAxes) {
  expect_equal_to_one_device({{"data=2,model=4", true},
                              {"fsdp=2,model=4", true, true},
                              {"data=2,fsdp=4"},
                              {"data=2,fsdp=4", false, false, true},
                              {"fsdp=2,seq=2,model=2", false, false, true},
                              {"replica:data=2,shard:fsdp=4"},
                              {"fsdp=2,seq=2,model=2", true},
                              {"data=2,seq=2,model=2", false, true}},
                             false);
}

TEST_F(Parallel, GroupedQueries) {
  expect_equal_to_one_device(
      {{"model=4,data=2", true, true}, {"fsdp=8"}, {"fsdp=2,seq=2,model=2", true, true}}, true);
}

// One device computes at once what these compute by parts.
TEST_F(Parallel, LongRowsByParts) {
  expect_equal_to_one_device(
      {{.mesh = "", .by_parts = true}, {.mesh = "fsdp=2,seq=2,model=2", .by_parts = true}}, true);
}

TEST_F(WeeklyParallel, LongRowsByParts) {
  expect_equal_to_one_device({{.mesh = "data=2,fsdp=4", .by_parts = true},
                              {.mesh = "seq=8", .by_parts = true},
                              {.mesh = "fsdp=2,model=4",
                               .parallel_vocabulary = true,
                               .sequence_parallel = true,
                               .by_parts = true}},
                             true);
}

// Of other cores, with biases, and of latent attention; dropout is drawn in all of them.
TEST_F(WeeklyParallel, LongRowsOfOtherMixersByParts) {
  for (const char* mixer :
       {"{core: {class: SigmoidAttention, dropout: {class: Dropout, rate: 0.1}}, bias: ALiBi}",
        "{core: {class: TransformerXLAttention, dropout: {class: Dropout, rate: 0.1}}}",
        "{core: {sink: true, logit_cap: 5, per_dim_scale: PerDimScale}, mask: {class: "
        "SlidingWindowMask, "
        "window: 5}, bias: {class: SumOfBiases, biases: [ALiBi, {class: T5Bias, max_distance: "
        "20}]}}",
        "{class: LatentAttention, num_heads: 8, kv_rank: 16, nope_dim: 4, rope_dim: 4, value_dim: "
        "4, core: {dropout: {class: Dropout, rate: 0.1}}}"}) {
    std::vector<Way> ways;
    for (const char* mesh : {"", "fsdp=2,seq=2,model=2", "seq=4,data=2"})
      ways.push_back({.mesh = mesh, .by_parts = true, .mixer = mixer});
    expect_equal_to_one_device(ways, false);
  }
}

// A mesh test with a batch layout of its own would prove nothing about a run.
TEST_F(Parallel, BatchesAreLaidOutAsTheTrainerLaysThem) {
  const Trainer::Config cfg = config_of({"data=2,fsdp=2,seq=2"}, false);
  const auto run = start(cfg);
  const RunModules trainer(cfg);
  const std::vector<ProgramValue> expected =
      batch_inputs(trainer.program_spec(cfg.mesh, batch_spec(8, 16)));
  const auto& inputs = run->program().inputs;
  ASSERT_EQ(inputs.size(), run->leaves().size() + expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const ProgramValue& input = inputs[run->leaves().size() + i];
    EXPECT_EQ(input.name, expected[i].name);
    EXPECT_EQ(input.sharding, expected[i].sharding) << input.name;
    EXPECT_EQ(to_text(input.sharding), "[[data, expert, fsdp], seq]") << input.name;
  }
}

TEST_F(Parallel, StateIsDividedAsItsParameters) {
  const auto run = start(config_of({"data=2,fsdp=2,model=2", true}, false));
  std::map<std::string, PartitionSpec> of_parameters;
  int compared = 0;
  for (const ProgramValue& leaf : run->leaves()) {
    if (leaf.name.starts_with("model/")) of_parameters.emplace(leaf.name, leaf.sharding);
  }
  for (const ProgramValue& leaf : run->leaves()) {
    const size_t at = leaf.name.find("model/");
    if (at == 0 || at == std::string::npos) continue;
    EXPECT_EQ(leaf.sharding, of_parameters.at(leaf.name.substr(at))) << leaf.name;
    ++compared;
  }
  EXPECT_EQ(compared, 2 * static_cast<int>(of_parameters.size()));  // both moments of AdamW
}

}  // namespace
}  // namespace axle
