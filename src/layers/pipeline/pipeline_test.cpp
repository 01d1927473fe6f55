// A pipeline is a Repeat that gets one microbatch after the other: the same results, gradients,
// losses, summaries, state and random numbers, for any stages and schedule.
#include "layers/pipeline/pipeline.h"

#include <gmock/gmock.h>

#include "config/register.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "layers/experts/linear_routers.h"
#include "layers/experts/moe.h"
#include "layers/mixer.h"
#include "layers/norms/batch_norms.h"
#include "layers/pipeline/stage_loop.h"
#include "nn/remat_policies.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"
#include "ops/reductions/reductions.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

constexpr int64_t kLayers = 4, kDim = 4;

TransformerLayer::Config small_layer(double dropout = 0) {
  TransformerLayer::Config out{
      .attention =
          PreNorm::Config{
              .body = Attention::Config{.num_heads = 2,
                                        .num_kv_heads = 1,
                                        .qkv = RoPE::Config{.inner = FusedGroupedQKV::Config{}}}},
      .feed_forward = PreNorm::Config{.body = FeedForward::Config{.hidden_dim = FixedDim{6}}}};
  if (dropout > 0) out.feed_forward.get_if<PreNorm>()->dropout = Dropout::Config{.rate = dropout};
  return out;
}

Pipeline::Config pipeline_of(Child<Block> layer, int64_t microbatches, int64_t rounds = 1) {
  Pipeline::Config out{
      .num_layers = kLayers, .num_microbatches = microbatches, .layer = std::move(layer)};
  if (rounds > 1) out.schedule = Circular::Config{.num_rounds = rounds};
  return out;
}

AXLE_LAYER_LAWS(Pipeline, {.model_dim = kDim},
                {{"two", pipeline_of(small_layer(0.2), 2)},
                 {"remat",
                  pipeline_of({small_layer(), {.remat = SaveNames{.names = {"q_proj"}}}}, 2)},
                 {"whole", pipeline_of(small_layer(0.2), 1)}})

/// x -> x + norm(x) * w, with a summary, an output, an auxiliary loss and a counter.
class Diary final : public Block {
 public:
  struct Config {
    AXLE_CONFIG(Diary)
  };
  Diary(const Config&, const Dims& dims, const Scope& scope)
      : Block(scope),
        w_(param("w", {.shape = {dims.model_dim}, .init = Ones{}})),
        norm_(child("norm", Child<Norm>(BatchNorm::Config{.decay = 0.75}),
                    {.input_dim = dims.model_dim})) {
    declare_state("calls", {.dtype = DType::kI32});
  }

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override {
    const Tensor y_BTD = norm_(x_BTD, context.segment_ids) * w_();
    add_summary("mean", mean(y_BTD));
    add_output("change", y_BTD);
    add_aux_loss("size", sum(y_BTD * y_BTD));
    if (is_training()) set_state("calls", state("calls") + 1);
    return x_BTD + y_BTD;
  }

 private:
  Param w_;
  Handle<Norm> norm_;
};
AXLE_REGISTER(Diary)

/// x -> x * (1 + old / 4), where old is the value published as "sum"; publishes x + old.
class Adder final : public Block {
 public:
  struct Config {
    AXLE_CONFIG(Adder)
  };
  Adder(const Config&, const Dims& dims, const Scope& scope)
      : Block(scope), w_(param("w", {.shape = {dims.model_dim}, .init = Ones{}})) {}

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext&) override {
    const Tensor old_BTD = published("sum") * w_();
    publish("sum", x_BTD + old_BTD);
    publish("half", x_BTD / 2);
    return x_BTD * (1 + old_BTD / 4);
  }

 private:
  Param w_;
};
AXLE_REGISTER(Adder)

/// What a layer collects, as one tree of names.
struct Outcome {
  Tensor y;
  OutputCollection collected;

  template <class F>
  void each_field(F&& fn) {
    fn("y", y);
    fn("", collected);
  }
};

struct Inputs {
  Tree<HostTensor> values;  // x and the fields of the context
  Tree<HostTensor> published = {};
};

Inputs tokens() {
  HostTensor positions(Type{DType::kI32, {4, 3}}), segments = positions;
  for (size_t i = 0; i < 12; ++i) {
    positions.values<int32_t>()[i] = static_cast<int32_t>((i * 5) % 4);
    segments.values<int32_t>()[i] = static_cast<int32_t>(i % 3 == 0 ? 1 : 1 + i / 6);
  }
  return {.values = {{"x", normal_values({4, 3, kDim}, 3)},
                     {"context/positions", positions},
                     {"context/segment_ids", segments}}};
}

Mesh mesh_of(int64_t stages) { return {{{.name = "pipeline", .size = stages}}}; }

// Calls a block as it is called in training, over a mesh with this many stages.
Outcome call(int64_t stages, Block& block, const Tree<Tensor>& parameters,
             const Tree<Tensor>& inputs, const Tree<Tensor>& published, const Tree<Tensor>& state,
             const random::Key& key) {
  auto [y, collected] = functional(block, parameters,
                                   {.training = true,
                                    .key = key,
                                    .state = state,
                                    .published = published,
                                    .mesh = mesh_of(stages)},
                                   [&] {
                                     InputReader reader(inputs);
                                     const Tensor x = reader.required("x");
                                     return block(x, MixerContext::read(reader, "context"));
                                   });
  return {y, std::move(collected)};
}

// Calls a Repeat on each microbatch in turn; state passes from one to the next.
Outcome one_after_the_other(Block& repeat, int64_t n, const Tree<Tensor>& parameters,
                            const Tree<Tensor>& inputs, const Tree<Tensor>& published,
                            Tree<Tensor> state, const random::Key& key) {
  std::vector<Outcome> parts;
  const auto part_of = [&](const Tree<Tensor>& tree, int64_t m) {
    Tree<Tensor> out;
    for (const auto& [name, value] : tree) out[name] = index_in_dim(split_rows(value, n), 0, m);
    return out;
  };
  for (int64_t m = 0; m < n; ++m) {
    const random::Key own = n == 1 ? key : random::fold_in(key, static_cast<uint32_t>(m));
    parts.push_back(
        call(1, repeat, parameters, part_of(inputs, m), part_of(published, m), state, own));
    for (const auto& [path, value] : parts.back().collected.state) state.at(path) = value;
  }
  const auto merged = [&](auto&& get) {
    Values all;
    for (const Outcome& part : parts) all.push_back(get(part));
    return stack(all);
  };
  Outcome out = parts.back();
  out.y = merge_rows(merged([](const Outcome& part) { return part.y; }));
  for (auto& [path, value] : out.collected.summaries)
    value = mean(merged([&](const Outcome& p) { return p.collected.summaries.at(path); }), {0});
  for (auto& [path, value] : out.collected.aux_losses)
    value = mean(merged([&](const Outcome& p) { return p.collected.aux_losses.at(path); }), {0});
  for (auto& [path, value] : out.collected.outputs) {
    value = merged([&](const Outcome& p) { return p.collected.outputs.at(path); });
    value = swap_axes(value, 0, 1);  // [layers, microbatches, ..]
  }
  for (auto& [path, value] : out.collected.published)
    value = merge_rows(merged([&](const Outcome& p) { return p.collected.published.at(path); }));
  return out;
}

// Names of tensors without the root of the block.
std::string below_root(std::string name) {
  for (const char* root : {"pipeline/", "repeat/"}) {
    const size_t at = name.find(root);
    if (at != name.npos) name.erase(at, std::string(root).size());
  }
  return name;
}

struct Numbers {
  std::vector<std::string> names;
  std::vector<HostTensor> values;
};

// Returns everything that a training call returns, and the gradients of all of it by parameters,
// inputs and published values.
template <class L, class F>
Numbers numbers_of(testing::TestLayer<L>& layer, const Inputs& in, F&& evaluate) {
  Tree<HostTensor> state;
  testing::add_initial_state(layer.layer(), state);
  const std::vector<const Tree<HostTensor>*> trees = {&layer.parameters(), &in.values,
                                                      &in.published, &state};
  std::vector<HostTensor> arguments;
  for (const auto* tree : trees) {
    for (const auto& [path, value] : *tree) arguments.push_back(value);
  }
  Numbers out;
  const auto fn = [&](const Values& v) {
    auto at = v.begin();
    std::vector<Tree<Tensor>> given;
    for (const auto* tree : trees) {
      given.emplace_back();
      for (const auto& [path, value] : *tree) given.back().emplace(path, *at++);
    }
    Outcome outcome =
        evaluate(layer.layer(), given[0], given[1], given[2], given[3], random::random_key(4));
    out.names.clear();
    Values results;
    for (const auto& [name, value] : named_tensors_of(outcome)) {
      out.names.push_back(below_root(name));
      results.push_back(value);
    }
    return results;
  };
  const EvalOptions f64{.f64 = true};
  out.values = eval(fn, arguments, f64);
  std::vector<HostTensor> cotangents;
  for (size_t i = 0; i < out.values.size(); ++i)
    cotangents.push_back(testing::random_tensor(out.values[i].type(), 70 + i, 1));
  for (HostTensor& g : eval(testing::gradient_function(fn, cotangents), arguments, f64)) {
    out.names.push_back("gradient " + std::to_string(out.names.size()));
    out.values.push_back(std::move(g));
  }
  return out;
}

Numbers of_pipeline(const Pipeline::Config& cfg, int64_t stages, const Inputs& in) {
  auto layer = build_for_test<Pipeline>(cfg, {.model_dim = kDim});
  return numbers_of(layer, in, [&](Block& pipeline, const auto&... more) {
    return call(stages, pipeline, more...);
  });
}

Numbers of_repeat(const Child<Block>& block, int64_t microbatches, const Inputs& in) {
  auto layer = build_for_test<Repeat>({.num_layers = kLayers, .layer = block}, {.model_dim = kDim});
  return numbers_of(layer, in, [&](Block& repeat, const auto&... more) {
    return one_after_the_other(repeat, microbatches, more...);
  });
}

void expect_equal_to_repeat(const Child<Block>& block, const Inputs& in = tokens()) {
  for (const int64_t microbatches : {1, 2, 4}) {
    const Numbers expected = of_repeat(block, microbatches, in);
    for (const int64_t stages : {1, 2, 4}) {
      for (const int64_t rounds : {1, 2}) {
        if (kLayers % (stages * rounds) != 0 || (rounds > 1 && microbatches < stages)) continue;
        SCOPED_TRACE(::testing::Message() << microbatches << " microbatches, " << stages
                                          << " stages, " << rounds << " rounds");
        const Numbers actual = of_pipeline(pipeline_of(block, microbatches, rounds), stages, in);
        ASSERT_EQ(actual.names, expected.names);
        for (size_t i = 0; i < expected.values.size(); ++i) {
          EXPECT_LE(testing::relative_difference(actual.values[i], expected.values[i]), 1e-12)
              << expected.names[i];
        }
      }
    }
  }
}

TEST(Pipeline, EqualsRepeatOfMicrobatches) { expect_equal_to_repeat(small_layer()); }

TEST(Pipeline, DrawsForEachMicrobatchAndLayer) { expect_equal_to_repeat(small_layer(0.4)); }

TEST(Pipeline, ComputesAttentionByBlocks) {
  TransformerLayer::Config layer = small_layer();
  layer.attention.get_if<PreNorm>()->body.get_if<Attention>()->core =
      SoftmaxAttention::Config{.blocks = {.from = 1, .queries = 2, .keys = 2}};
  expect_equal_to_repeat(layer);
}

TEST(Pipeline, RematerialisesItsLayers) {
  expect_equal_to_repeat({small_layer(0.4), {.remat = SaveNothing{}}});
}

TEST(Pipeline, CollectsLossesAndStateOfBusyStagesOnly) {
  const Child<Block> diary = Diary::Config{};
  expect_equal_to_repeat(diary);
  // Each layer has seen each microbatch once, in no iteration in which its stage was idle.
  const Numbers seen = of_pipeline(pipeline_of(diary, 4), 4, tokens());
  const auto at = std::ranges::find(seen.names, "state/layer/calls");
  ASSERT_NE(at, seen.names.end());
  EXPECT_EQ(seen.values[at - seen.names.begin()], HostTensor({kLayers}, {4, 4, 4, 4}));
}

TEST(Pipeline, BalancesExperts) {
  const MoE::Config experts{.num_experts = 3,
                            .router = BalancedRouter::Config{.top_k = 2, .update_rate = 0.1},
                            .hidden_dim = FixedDim{5}};
  expect_equal_to_repeat(PreNorm::Config{.body = experts});
}

TEST(Pipeline, PublishedValuesFollowTheirMicrobatch) {
  Inputs in = tokens();
  in.published = {{"sum", normal_values({4, 3, kDim}, 8)}};
  expect_equal_to_repeat(Adder::Config{}, in);
  in.published = {{"source", normal_values({4, 5, kDim}, 8)},
                  {"source/segments", HostTensor({4, 5}, {1, 1, 1, 2, 2, 1, 1, 2, 1, 1,  //
                                                          2, 1, 1, 1, 1, 2, 1, 2, 1, 2})}};
  const Attention::Config attention{
      .num_heads = 2, .num_kv_heads = 2, .qkv = SourceQKV::Config{}, .mask = std::nullopt};
  expect_equal_to_repeat(PreNorm::Config{.body = attention}, in);
}

// With one microbatch, nothing is left of the difference.
TEST(Pipeline, OneMicrobatchEqualsRepeatBitForBit) {
  const HostTensor x = normal_values({4, 3, kDim}, 3);
  auto pipeline = build_for_test<Pipeline>(pipeline_of(small_layer(0.4), 1), {.model_dim = kDim});
  auto repeat = build_for_test<Repeat>({.num_layers = kLayers, .layer = small_layer(0.4)},
                                       {.model_dim = kDim});
  EXPECT_EQ(pipeline.run(x, {.training = true, .seed = 4}),
            repeat.run(x, {.training = true, .seed = 4}));
}

TEST(Pipeline, StartsAndShardsLikeRepeat) {
  const auto pipeline =
      build_for_test<Pipeline>(pipeline_of(Diary::Config{}, 1), {.model_dim = kDim});
  const auto repeat = build_for_test<Repeat>({.num_layers = kLayers, .layer = Diary::Config{}},
                                             {.model_dim = kDim});
  EXPECT_EQ(pipeline.parameters().size(), 3u);
  for (const auto& [path, value] : pipeline.parameters())
    EXPECT_EQ(value, repeat.parameters().at("repeat/" + below_root(path)));
}

TEST(Pipeline, ShardsItsLayersOverTheirAxis) {
  auto layer = build_for_test<Pipeline>(pipeline_of(small_layer(), 1), {.model_dim = kDim});
  for (const auto& [path, spec] : layer.layer().param_specs())
    EXPECT_EQ(spec.mesh_axes.at(0), DimAxes("pipeline")) << path;
  auto diary = build_for_test<Pipeline>(pipeline_of(Diary::Config{}, 1), {.model_dim = kDim});
  for (const auto& [path, spec] : diary.layer().state_specs())
    EXPECT_EQ(spec.mesh_axes.at(0), DimAxes("pipeline")) << path;
}

/// Begins the second round of a microbatch while it still is in the first one.
class Hasty final : public PipelineSchedule {
 public:
  struct Config {
    AXLE_CONFIG(Hasty)
  };
  Hasty(const Config&, const Dims&, const Scope&) {}
  int64_t num_rounds() const override { return 2; }
  std::vector<PipelinePass> passes(int64_t) const override {
    return {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
  }
};
AXLE_REGISTER(Hasty)

TEST(Pipeline, LayersMustFormRounds) {
  EXPECT_EQ(error_of<ConfigError>([] {
              build_for_test<Pipeline>(pipeline_of(small_layer(), 2, 3), {.model_dim = kDim});
            }),
            "pipeline.num_layers: expected a multiple of the 3 rounds of the schedule, got 4");
}

TEST(Pipeline, MistakesOfACall) {
  const auto called = [](const Pipeline::Config& cfg, int64_t stages, const Tree<Type>& published) {
    auto layer = build_for_test<Pipeline>(cfg, {.model_dim = kDim});
    return error_of<Error>([&] {
      trace(
          [&](const Values&) {
            Tree<Tensor> parameters, given;
            for (const auto& [path, value] : layer.parameters())
              parameters.emplace(path, zeros(value.shape()));
            for (const auto& [name, type] : published) given.emplace(name, zeros(type.dims));
            const InvocationOptions options{.published = given, .mesh = mesh_of(stages)};
            return Values{functional(layer.layer(), parameters, options, [&] {
                            return layer.layer()(zeros({4, 3, kDim}), {});
                          }).first};
          },
          {});
    });
  };
  EXPECT_EQ(called(pipeline_of(small_layer(), 3), 2, {}),
            "pipeline.num_microbatches: must divide the rows of a batch, or of its parts "
            "(learner.microbatches, learner.device_rows), got 3 and x f32[4, 3, 4]");
  EXPECT_EQ(called(pipeline_of(small_layer(), 4), 3, {}),
            "pipeline.num_layers: expected a multiple of 3 stages (devices of the mesh axis "
            "pipeline) times 1 round, got 4; change one of them");
  EXPECT_EQ(called(pipeline_of(small_layer(), 1, 2), 2, {}),
            "pipeline.schedule: expected each round of a microbatch to begin 2 iterations (stages) "
            "after the one before, got round 1 of microbatch 0 in iteration 1; raise "
            "num_microbatches, or use GPipe");
  Pipeline::Config hasty = pipeline_of(small_layer(), 2);
  hasty.schedule = Hasty::Config{};
  EXPECT_THAT(called(hasty, 2, {}),
              ::testing::HasSubstr("got round 1 of microbatch 0 in iteration 1"));
  Pipeline::Config cfg = pipeline_of(small_layer(), 2);
  const Tree<Type> streams{{"streams", {DType::kF32, {3, 4, 2}}}};
  EXPECT_EQ(called(cfg, 2, streams),
            "pipeline: expected 'streams' with the 4 rows of x in dim 0, got f32[3, 4, 2]; name "
            "the dim of a published value in 'rows'");
}

/// x -> x + the first stream published as "streams" (f32[3, B, D]) + "offset" (f32[D]).
class Listener final : public Block {
 public:
  struct Config {
    AXLE_CONFIG(Listener)
  };
  Listener(const Config&, const Dims&, const Scope& scope) : Block(scope) {}

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext&) override {
    const Tensor stream_BD = index_in_dim(published("streams"), 0, 0);
    return x_BTD + expand_dims(stream_BD, 1) + published("offset");
  }
};
AXLE_REGISTER(Listener)

TEST(Pipeline, RowsOfPublishedValuesMayBeInAnyDim) {
  Pipeline::Config cfg = pipeline_of(Listener::Config{}, 4);
  cfg.rows = {{"streams", 1}, {"offset", -1}};
  auto pipeline = build_for_test<Pipeline>(cfg, {.model_dim = kDim});
  auto repeat = build_for_test<Repeat>({.num_layers = kLayers, .layer = Listener::Config{}},
                                       {.model_dim = kDim});
  const Tree<HostTensor> inputs{{"x", normal_values({4, 3, kDim}, 3)},
                                {"published/streams", normal_values({3, 4, kDim}, 5)},
                                {"published/offset", normal_values({kDim}, 6)}};
  EXPECT_EQ(pipeline.call(inputs).outputs, repeat.call(inputs).outputs);
}

}  // namespace
}  // namespace axle
