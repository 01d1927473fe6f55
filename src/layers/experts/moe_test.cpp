// Mixtures of experts: laws, what exchanging parts keeps, losses, mistakes.
#include "layers/experts/moe.h"

#include <gmock/gmock.h>

#include <numeric>

#include "config/register.h"
#include "layers/experts/dispatch.h"
#include "layers/experts/linear_routers.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/products/lora_product.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"
#include "testing/error_of.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

MoE::Config small(Child<Router> router, Child<Dispatch> dispatch = SortedDispatch::Config{},
                  bool gated = false) {
  MoE::Config cfg{.num_experts = 3,
                  .router = std::move(router),
                  .dispatch = std::move(dispatch),
                  .hidden_dim = FixedDim{6}};
  if (gated) cfg.gate = Linear::Config{.bias = false};
  return cfg;
}
MoE::Config with_bias() {
  MoE::Config cfg = small(TopKRouter::Config{});
  cfg.up = Linear::Config{};
  cfg.down = Linear::Config{};
  return cfg;
}
MoE::Config with_adapters() {
  const Linear::Config adapted{.bias = false, .product = LoraProduct::Config{.rank = 2}};
  MoE::Config cfg = small(TopKRouter::Config{});
  cfg.gate = cfg.up = cfg.down = adapted;
  return cfg;
}
MoE::Config with_shared() {
  MoE::Config cfg = small(BalancedRouter::Config{.top_k = 2});
  cfg.shared = FeedForward::Config{.hidden_dim = FixedDim{5}};
  return cfg;
}

// Enough for any load, in training and in evaluation.
const CapacityDispatch::Config kEnough{.train_capacity_factor = 3.0, .eval_capacity_factor = 3.0};

AXLE_LAYER_LAWS(MoE, {.model_dim = 4},
                {{"switch", small(SwitchRouter::Config{}, kEnough)},
                 {"top2", small(Top2Router::Config{}, kEnough, /*gated=*/true)},
                 {"sorted", small(TopKRouter::Config{}, SortedDispatch::Config{}, /*gated=*/true)},
                 {"sigmoid", small(TopKRouter::Config{.score = {"sigmoid", &sigmoid},
                                                      .weights = ExpertWeights::kScores,
                                                      .logit_cap = 3})},
                 {"gumbel",
                  small(TopKRouter::Config{.noise = RouterNoise{"gumbel", &gumbel_noise}})},
                 {"bias", with_bias()},
                 {"lora", with_adapters()},
                 {"shared", with_shared()}})

// Returns results and gradients of a training call. The gradients are for one fixed cotangent.
template <class L>
std::vector<HostTensor> numbers(testing::TestLayer<L>& layer, const HostTensor& x) {
  return testing::detail::results_and_gradients(layer.function({{"x", x}}, {.training = true}));
}

void expect_close(const std::vector<HostTensor>& actual, const std::vector<HostTensor>& expected,
                  double tolerance = 1e-5) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_LE(testing::relative_difference(actual[i], expected[i]), tolerance) << i;
}

TEST(MoE, SortedAndCapacityDispatchAgree) {
  const HostTensor x = normal_values({4, 6, 4}, 3);
  for (const Child<Router>& router :
       {Child<Router>(SwitchRouter::Config{}), Child<Router>(Top2Router::Config{}),
        Child<Router>(TopKRouter::Config{.top_k = 3}),
        Child<Router>(BalancedRouter::Config{.top_k = 2})}) {
    SCOPED_TRACE(router.any().type().name);
    auto sorted =
        build_for_test<MoE>(small(router, SortedDispatch::Config{}, true), {.model_dim = 4});
    auto blocks = build_for_test<MoE>(small(router, kEnough, true), {.model_dim = 4});
    EXPECT_EQ(sorted.layer().param_specs().size(), 4);
    blocks.set_all(sorted.parameters());
    expect_close(numbers(blocks, x), numbers(sorted, x));
  }
}

// With room for all, groups change nothing but the load-balance loss, which is not in the result.
TEST(MoE, GroupsWithRoomForAllDoNotChangeTheResult) {
  const HostTensor x = normal_values({4, 6, 4}, 3);
  auto one = build_for_test<MoE>(small(Top2Router::Config{}, kEnough), {.model_dim = 4});
  CapacityDispatch::Config grouped = kEnough;
  grouped.outer_batch = 2;
  grouped.num_groups = 3;
  auto many = build_for_test<MoE>(small(Top2Router::Config{}, grouped), {.model_dim = 4});
  many.set_all(one.parameters());
  expect_close(numbers(many, x), numbers(one, x));
}

// All experts are equal, so the weights of a token, which sum to 1, do not matter.
TEST(MoE, EqualExpertsAreOneFeedForward) {
  const HostTensor x = normal_values({2, 5, 4}, 3);
  auto dense = build_for_test<FeedForward>(
      {.hidden_dim = FixedDim{6}, .gate = Linear::Config{.bias = false}}, {.model_dim = 4});
  for (const Child<Dispatch>& dispatch :
       {Child<Dispatch>(SortedDispatch::Config{}), Child<Dispatch>(kEnough)}) {
    auto moe = build_for_test<MoE>(small(TopKRouter::Config{}, dispatch, true), {.model_dim = 4});
    for (const char* path : {"gate/weight", "up/weight", "down/weight"}) {
      const HostTensor& one = dense.parameter(path);
      Shape shape = one.shape();
      shape.insert(shape.begin(), 3);
      HostTensor copies(Type{DType::kF32, shape});
      for (int e = 0; e < 3; ++e)
        std::ranges::copy(one.bytes(), copies.bytes().begin() + e * std::ssize(one.bytes()));
      moe.set(path, copies);
    }
    EXPECT_ALLCLOSE(moe.run(x), dense.run(x), 1e-5);
  }
}

// Expert e multiplies by e + 1; the router sends a token to the expert of its largest channel.
testing::TestLayer<MoE> scaling_experts(const CapacityDispatch::Config& dispatch) {
  auto moe = build_for_test<MoE>({.num_experts = 2,
                                  .router = TopKRouter::Config{.top_k = 1},
                                  .dispatch = dispatch,
                                  .hidden_dim = FixedDim{2},
                                  .activation = {"linear", &linear}},
                                 {.model_dim = 2});
  const HostTensor one({2, 2}, {1.0f, 0.0f, 0.0f, 1.0f});
  moe.set("router/weight", one)
      .set("up/weight", HostTensor({2, 2, 2}, {1.0f, 0.0f, 0.0f, 1.0f, 2.0f, 0.0f, 0.0f, 2.0f}))
      .set("down/weight", HostTensor({2, 2, 2}, {1.0f, 0.0f, 0.0f, 1.0f, 1.0f, 0.0f, 0.0f, 1.0f}));
  return moe;
}

TEST(MoE, FullExpertsDropTheLastTokens) {
  auto moe = scaling_experts({.train_capacity_factor = 1.0, .eval_capacity_factor = 0.5});
  // Three tokens for expert 0, one for expert 1; each may take two in training.
  const HostTensor x({1, 4, 2}, {1.0f, 0.0f, 2.0f, 0.0f, 0.0f, 3.0f, 4.0f, 0.0f});
  const auto trained = moe.call({{"x", x}}, {.training = true});
  EXPECT_EQ(trained.outputs[0],
            HostTensor({1, 4, 2}, {1.0f, 0.0f, 2.0f, 0.0f, 0.0f, 6.0f, 0.0f, 0.0f}));
  EXPECT_EQ(trained.summaries.at("mo_e/dropped"), HostTensor::scalar(0.25f));
  EXPECT_EQ(trained.summaries.at("mo_e/router/max_load"), HostTensor::scalar(1.5f));
  EXPECT_EQ(trained.summaries.at("mo_e/router/min_load"), HostTensor::scalar(0.5f));
  const auto evaluated = moe.call({{"x", x}});
  EXPECT_EQ(evaluated.outputs[0],
            HostTensor({1, 4, 2}, {1.0f, 0.0f, 0.0f, 0.0f, 0.0f, 6.0f, 0.0f, 0.0f}));
  EXPECT_EQ(evaluated.summaries.at("mo_e/dropped"), HostTensor::scalar(0.5f));
  auto at_least_three = scaling_experts({.train_capacity_factor = 1.0, .min_capacity = 3});
  EXPECT_EQ(at_least_three.call({{"x", x}}, {.training = true}).summaries.at("mo_e/dropped"),
            HostTensor::scalar(0.0f));
}

TEST(MoE, SummariesLeaveOutThoseOfExperts) {
  auto moe = build_for_test<MoE>(small(TopKRouter::Config{}), {.model_dim = 4});
  std::vector<std::string> names;
  for (const auto& [path, value] : moe.call({{"x", normal_values({2, 4, 4}, 1)}}).summaries) {
    names.push_back(path);
    EXPECT_EQ(value.shape(), Shape{}) << path;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"mo_e/router/entropy", "mo_e/router/load_balance_loss",
                                             "mo_e/router/max_load", "mo_e/router/min_load",
                                             "mo_e/router/z_loss"}));
}

TEST(MoE, ExpertsAreShardedOverTheirMeshAxis) {
  const auto specs =
      build_for_test<MoE>(small(TopKRouter::Config{}), {.model_dim = 4}).layer().param_specs();
  EXPECT_EQ(to_text(specs.at("mo_e/up/weight").partition()), "[expert, [fsdp, seq], model]");
  EXPECT_EQ(to_text(specs.at("mo_e/down/weight").partition()), "[expert, model, [fsdp, seq]]");
  EXPECT_EQ(to_text(specs.at("mo_e/router/weight").partition()), "[None, None]");
}

TEST(MoE, ExpertsStartFromSeparateKeys) {
  const auto layer = build_for_test<MoE>(small(TopKRouter::Config{}), {.model_dim = 4});
  const auto initial =
      testing::initial_parameters(const_cast<testing::TestLayer<MoE>&>(layer).layer(), 1);
  const HostTensor& up = initial.at("mo_e/up/weight");
  ASSERT_EQ(up.shape(), (Shape{3, 4, 6}));
  for (int64_t i = 0; i < 24; ++i) EXPECT_NE(up.at(i), up.at(24 + i));
}

// Four clusters of tokens, each of which must be multiplied by a factor of its own: one linear map
// cannot do it, an expert for each cluster can.
TEST(MoE, LearnsOneExpertForEachCluster) {
  constexpr int64_t kClusters = 4, kTokens = 32;
  HostTensor x = normal_values({1, kTokens, kClusters}, 5, 0.2), target = x;
  const float factors[] = {1, -1, 2, -2};
  for (size_t n = 0; n < kTokens; ++n) {
    x.values<float>()[n * kClusters + n % kClusters] += 2;
    for (size_t i = 0; i < kClusters; ++i)
      target.values<float>()[n * kClusters + i] =
          factors[n % kClusters] * x.values<float>()[n * kClusters + i];
  }
  auto moe = build_for_test<MoE>({.num_experts = kClusters,
                                  .router = SwitchRouter::Config{.losses = {.load_balance = 1}},
                                  .hidden_dim = FixedDim{8},
                                  .activation = {"linear", &linear}},
                                 {.model_dim = kClusters});
  const testing::LayerFunction fn = moe.function({{"x", x}}, {.training = true});
  const auto objective = [&](const Values& v) {
    const Tensor error = mean(square(fn(v)[0] - constant(target)));
    Tensor loss = error;
    for (const auto& [path, value] : fn.collected().aux_losses) loss = loss + value;
    return Values{loss, error, fn.collected().summaries.at("mo_e/router/max_load")};
  };
  std::vector<HostTensor> arguments = fn.arguments();
  const HostTensor one = HostTensor::scalar(1.0f), none = HostTensor::scalar(0.0f);
  const std::vector<HostTensor> first = eval(objective, arguments);
  for (int step = 0; step < 300; ++step) {
    const auto gradients =
        eval(testing::gradient_function(objective, {one, none, none}), arguments);
    for (size_t i = 0; i + 1 < arguments.size(); ++i) {  // all but x
      for (size_t j = 0; j < arguments[i].values<float>().size(); ++j)
        arguments[i].values<float>()[j] -= 0.1f * gradients[i].values<float>()[j];
    }
  }
  const std::vector<HostTensor> last = eval(objective, arguments);
  EXPECT_GT(first[1].at(0), 2);
  EXPECT_LT(last[1].at(0), 0.05);
  EXPECT_EQ(last[2].at(0), 1) << "each expert has a quarter of the tokens";
}

/// x -> x, with state of each token.
class Remembering final : public Projection {
 public:
  struct Config {
    AXLE_CONFIG(Remembering)
  };
  Remembering(const Config&, const Dims&, const Scope& scope) : Projection(scope) {
    declare_state("seen", {});
  }

 protected:
  Tensor forward(const Tensor& x) override {
    set_state("seen", sum(x));
    return x;
  }
};
AXLE_REGISTER(Remembering)

/// x -> x * weight, with the square of its weight as a loss.
class Penalized final : public Projection {
 public:
  struct Config {
    AXLE_CONFIG(Penalized)
  };
  Penalized(const Config&, const Dims& dims, const Scope& scope)
      : Projection(scope), scale_(param("scale", {.shape = {dims.input_dim}, .init = Ones{}})) {}

 protected:
  Tensor forward(const Tensor& x) override {
    add_aux_loss("square", sum(scale_() * scale_()));
    return x * scale_();
  }

 private:
  Param scale_;
};
AXLE_REGISTER(Penalized)

std::string mistake(const MoE::Config& cfg, int64_t model_dim = 4) {
  return error_of<ConfigError>([&] { build_for_test<MoE>(cfg, {.model_dim = model_dim}); });
}

TEST(MoE, MistakesFailAtConstruction) {
  EXPECT_EQ(mistake(small(TopKRouter::Config{.top_k = 4})),
            "mo_e.router.top_k: must be at most num_experts, got 4 and 3");
  EXPECT_EQ(mistake(small(BalancedRouter::Config{.top_k = 2, .num_expert_groups = 2})),
            "mo_e.router.num_expert_groups: must divide num_experts, got 2 and 3\n"
            "mo_e.router.top_k: must be at most the 1 experts of 1 groups, got 2");
  EXPECT_EQ(
      mistake(small(BalancedRouter::Config{.top_k = 1, .num_expert_groups = 3, .top_groups = 4})),
      "mo_e.router.top_groups: must be at most num_expert_groups, got 4 and 3");
  MoE::Config cfg = small(TopKRouter::Config{});
  cfg.hidden_dim = FixedDim{0};
  EXPECT_EQ(mistake(cfg), "mo_e.hidden_dim.dim: expected an integer of at least 1, got 0");
  cfg = small(TopKRouter::Config{});
  cfg.adaptive_load_balance = AdaptiveLossScale::Config{.max_overload = 0.1, .min_weight = 0.1};
  EXPECT_EQ(mistake(cfg),
            "mo_e.adaptive_load_balance: expected none, since the dispatch drops nothing, got a "
            "layer that follows what is dropped");
}

TEST(MoE, MistakesOfACall) {
  MoE::Config cfg = small(TopKRouter::Config{});
  cfg.up = Remembering::Config{};
  cfg.hidden_dim = FixedDim{4};
  auto remembering = build_for_test<MoE>(cfg, {.model_dim = 4});
  EXPECT_THAT(error_of<ShapeError>([&] {
                remembering.run(normal_values({1, 3, 4}, 1), {.training = true});
              }),
              ::testing::HasSubstr("expected result 1 to be the same for all rows, got one that "
                                   "differs"));
  cfg.up = Penalized::Config{};
  cfg.hidden_dim = FixedDim{4};
  auto moe = build_for_test<MoE>(cfg, {.model_dim = 4});
  EXPECT_ERROR(moe.run(normal_values({1, 3, 4}, 1)),
               "mo_e.up: expected a projection without aux losses, got mo_e/up/square");
  auto grouped = build_for_test<MoE>(
      small(TopKRouter::Config{}, CapacityDispatch::Config{.outer_batch = 2, .num_groups = 2}),
      {.model_dim = 4});
  EXPECT_ERROR(grouped.run(normal_values({2, 3, 4}, 1)),
               "mo_e.dispatch: expected x [B, T, D] with tokens that form 4 groups "
               "(outer_batch * num_groups), got "
               "f32[2, 3, 4]");
}

}  // namespace
}  // namespace axle
