// Tests of PreNorm, PostNorm, TransformerLayer, Stacked and Repeat.
#include "base/hash.h"
#include "config/register.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "layers/blocks/stacked_parameters_test.h"
#include "layers/mixer.h"
#include "nn/remat_policies.h"
#include "ops/elementwise/elementwise.h"
#include "ops/random/random.h"
#include "ops/reductions/reductions.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

const FeedForward::Config kSmall{.hidden_dim = FixedDim{6}};

TransformerLayer::Config small_layer() {
  return {
      .attention =
          PreNorm::Config{
              .body = Attention::Config{.num_heads = 2,
                                        .num_kv_heads = 1,
                                        .qkv = RoPE::Config{.inner = FusedGroupedQKV::Config{}}}},
      .feed_forward = PreNorm::Config{.body = kSmall, .dropout = Dropout::Config{.rate = 0.2}}};
}

AXLE_LAYER_LAWS(PreNorm, {.model_dim = 4},
                {{"feed_forward", {.body = kSmall}},
                 {"dropout", {.body = kSmall, .dropout = Dropout::Config{.rate = 0.5}}},
                 {"stochastic_depth",
                  {.body = kSmall,
                   .join = StochasticJoin::Config{.drop = StochasticDepth::Config{.rate = 0.4}}}}})
AXLE_LAYER_LAWS(PostNorm, {.model_dim = 4},
                {{"feed_forward", {.body = kSmall}},
                 {"dropout", {.body = kSmall, .dropout = Dropout::Config{.rate = 0.5}}}})
AXLE_LAYER_LAWS(TransformerLayer, {.model_dim = 4}, {{"small", small_layer()}})
AXLE_LAYER_LAWS(Stacked, {.model_dim = 4}, {{"two", {.num_layers = 2, .layer = small_layer()}}})
AXLE_LAYER_LAWS(Repeat, {.model_dim = 4},
                {{"three", {.num_layers = 3, .layer = small_layer()}},
                 {"remat",
                  {.num_layers = 2,
                   .layer = {small_layer(), {.remat = SaveNames{.names = {"q_proj", "k_*"}}}}}}})

/// x -> x + w, with a summary, an auxiliary loss and state.
class Chatty final : public Block {
 public:
  struct Config {
    AXLE_CONFIG(Chatty)
  };
  Chatty(const Config&, const Dims& dims, const Scope& scope)
      : Block(scope), w_(param("w", {.shape = {dims.model_dim}, .init = Ones{}})) {}

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext&) override {
    add_summary("total", sum(x_BTD));
    add_aux_loss("size", sum(w_() * w_()));
    set_state("seen", state("seen") + 1);
    return x_BTD + w_();
  }

 private:
  Param w_;
};
AXLE_REGISTER(Chatty)

TransformerLayer::Config without_dropout() {
  TransformerLayer::Config cfg = small_layer();
  cfg.feed_forward = PreNorm::Config{.body = kSmall};
  return cfg;
}

TEST(Repeat, EqualsStackedBitForBit) {
  auto repeat =
      build_for_test<Repeat>({.num_layers = 3, .layer = without_dropout()}, {.model_dim = 4});
  auto stacked =
      build_for_test<Stacked>({.num_layers = 3, .layer = without_dropout()}, {.model_dim = 4});
  repeat.set_all(stacked_parameters(stacked.parameters(), 3));
  const HostTensor x = normal_values({2, 5, 4}, 3);
  EXPECT_EQ(repeat.run(x), stacked.run(x));

  const auto gradients = [&](auto& layer) {
    const testing::LayerFunction fn = layer.function({{"x", x}});
    const std::vector<HostTensor> ct = {normal_values({2, 5, 4}, 8)};
    const std::vector<HostTensor> g = eval(testing::gradient_function(fn, ct), fn.arguments());
    Tree<HostTensor> named;
    for (size_t i = 0; i < fn.parameter_paths().size(); ++i)
      named.emplace(fn.parameter_paths()[i], g[i]);
    return named;
  };
  EXPECT_EQ(gradients(repeat), stacked_parameters(gradients(stacked), 3));
}

TEST(Repeat, UnrollingChangesNoBitOnTheInterpreter) {
  const HostTensor x = normal_values({2, 5, 4}, 3);
  const auto result = [&](int64_t unroll) {
    auto layer = build_for_test<Repeat>({.num_layers = 3, .unroll = unroll, .layer = small_layer()},
                                        {.model_dim = 4});
    return layer.run(x, {.training = true, .seed = 4});
  };
  for (const int64_t unroll : {2, 3}) EXPECT_EQ(result(unroll), result(1)) << unroll;
}

TEST(Repeat, StartsLikeStacked) {
  const Repeat::Config repeat{.num_layers = 3, .layer = small_layer()};
  const Stacked::Config stacked{.num_layers = 3, .layer = small_layer()};
  EXPECT_EQ(
      testing::initial_parameters(build_for_test<Repeat>(repeat, {.model_dim = 4}).layer(), 5),
      stacked_parameters(testing::initial_parameters(
                             build_for_test<Stacked>(stacked, {.model_dim = 4}).layer(), 5),
                         3));
}

TEST(Repeat, StacksWhatLayersCollect) {
  auto layer =
      build_for_test<Repeat>({.num_layers = 3, .layer = Chatty::Config{}}, {.model_dim = 2});
  layer.set("layer/w", HostTensor({3, 2}, {1.0f, 1.0f, 2.0f, 2.0f, 3.0f, 3.0f}));
  const auto result =
      layer.call({{"x", HostTensor::zeros({1, 1, 2})}},
                 {.state = {{"repeat/layer/seen", HostTensor({3}, {10.0f, 20.0f, 30.0f})}}});
  EXPECT_EQ(result.outputs[0], HostTensor({1, 1, 2}, {6.0f, 6.0f}));
  EXPECT_EQ(result.summaries.at("repeat/layer/total"), HostTensor({3}, {0.0f, 2.0f, 6.0f}));
  EXPECT_EQ(result.aux_losses.at("repeat/layer/size"), HostTensor({3}, {2.0f, 8.0f, 18.0f}));
  EXPECT_EQ(result.state.at("repeat/layer/seen"), HostTensor({3}, {11.0f, 21.0f, 31.0f}));
}

/// x -> x + noise.
class Noisy final : public Block {
 public:
  struct Config {
    AXLE_CONFIG(Noisy)
  };
  Noisy(const Config&, const Dims&, const Scope& scope) : Block(scope) {}

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext&) override {
    const Tensor noise = random::normal(Invocation::current().key(), x_BTD.shape());
    add_summary("noise", noise);
    return x_BTD + noise;
  }
};
AXLE_REGISTER(Noisy)

TEST(Repeat, LayersDrawFromSeparateKeys) {
  auto layer =
      build_for_test<Repeat>({.num_layers = 2, .layer = Noisy::Config{}}, {.model_dim = 3});
  const HostTensor noise =
      layer.call({{"x", HostTensor::zeros({1, 1, 3})}}).summaries.at("repeat/layer/noise");
  EXPECT_NE(noise.at(0), noise.at(3));
  // The key of iteration 0 is folded with the iteration, then with the layer's name.
  const HostTensor expected = eval(
      [](const Values& key) {
        const random::Key own = random::fold_in(random::fold_in(random::Key::wrap(key[0]), 0),
                                                md5_mod_2_31_minus_1("layer"));
        return Values{random::normal(own, {3})};
      },
      {random::key_words(0)})[0];
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(noise.at(i), expected.at(i));
}

TEST(Stacked, TakesOneConfigForEachLayer) {
  auto layer = build_for_test<Stacked>(
      {.num_layers = 2,
       .layers = {PreNorm::Config{.body = kSmall}, PostNorm::Config{.body = kSmall}}},
      {.model_dim = 4});
  EXPECT_TRUE(layer.parameters().contains("stacked/layer1/body/down/weight"));
  EXPECT_ERROR(
      build_for_test<Stacked>({.num_layers = 3, .layers = {PreNorm::Config{.body = kSmall}}},
                              {.model_dim = 4}),
      "stacked.layers: must have num_layers entries or none, got 1 and num_layers = 3");
  EXPECT_ERROR(build_for_test<Repeat>({.num_layers = 9999, .unroll = 5000, .layer = small_layer()},
                                      {.model_dim = 4}),
               "repeat.unroll: at most 4096 blocks can be unrolled, got 5000");
  EXPECT_ERROR(build_for_test<Stacked>({.num_layers = 3, .layer = {}}, {.model_dim = 4}),
               "stacked.layer: expected a block, got none; set it or layers");
}

}  // namespace
}  // namespace axle
