// Routers: which experts tokens get, with which weights, losses and biases.
#include <numeric>

#include "layers/experts/linear_routers.h"
#include "ops/elementwise/elementwise.h"
#include "testing/op_test.h"
#include "testing/test_layer.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

const RouterDims kRouterDims{.model_dim = 4, .num_experts = 6, .num_groups = 1};

struct Choice {
  HostTensor experts, weights;
};
template <class R>
Choice choice(testing::TestLayer<R>& router, const HostTensor& x,
              const testing::CallOptions& options = {}) {
  const auto out = router.call({{"x", x}}, options).outputs;
  return {out[0], out[1]};
}

// Returns the softmax or sigmoid scores [B * T][E] of tokens.
std::vector<std::vector<double>> scores_of(const HostTensor& x_BTD, const HostTensor& weight_DE,
                                           bool use_softmax, double cap = 0) {
  const int64_t d = weight_DE.shape()[0], experts = weight_DE.shape()[1];
  std::vector<std::vector<double>> out;
  for (int64_t n = 0; n < x_BTD.size() / d; ++n) {
    std::vector<double> row;
    double total = 0;
    for (int64_t e = 0; e < experts; ++e) {
      double logit = 0;
      for (int64_t i = 0; i < d; ++i) logit += x_BTD.at(n * d + i) * weight_DE.at(i * experts + e);
      if (cap > 0) logit = cap * std::tanh(logit / cap);
      row.push_back(use_softmax ? std::exp(logit) : 1 / (1 + std::exp(-logit)));
      total += row.back();
    }
    for (double& v : row) v /= use_softmax ? total : 1;
    out.push_back(std::move(row));
  }
  return out;
}

// Returns the k experts with the largest values, largest first.
std::vector<int64_t> largest(const std::vector<double>& values, size_t k) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](int64_t e) { return values[e]; });
  order.resize(k);
  return order;
}

// Expects that tokens get the k experts with the largest scores, whose weights are
// scale * score / (sum of the chosen scores), or scale * score.
void expect_choice(const Choice& got, const std::vector<std::vector<double>>& scores, size_t k,
                   double scale, bool sum_to_one) {
  for (size_t n = 0; n < scores.size(); ++n) {
    const std::vector<int64_t> chosen = largest(scores[n], k);
    double total = 0, sum = 0;
    for (const int64_t e : chosen) total += scores[n][e];
    for (size_t i = 0; i < k; ++i) {
      const auto at = static_cast<int64_t>(n * k + i);
      EXPECT_EQ(got.experts.at(at), chosen[i]) << n;
      const double score = scores[n][chosen[i]];
      EXPECT_NEAR(got.weights.at(at), scale * score / (sum_to_one ? total : 1), 1e-5) << n;
      sum += got.weights.at(at);
    }
    if (sum_to_one) {
      EXPECT_NEAR(sum, scale, 1e-5) << n;
    }
  }
}

const HostTensor kX = normal_values({2, 5, 4}, 3);

TEST(SwitchRouter, TheWeightIsTheScoreOfTheBestExpert) {
  auto router = build_for_test<SwitchRouter>({.logit_cap = 2}, kRouterDims);
  expect_choice(choice(router, kX), scores_of(kX, router.parameter("weight"), true, 2), 1, 1,
                false);
}

TEST(Top2Router, WeightsOfTwoSumToOne) {
  auto router = build_for_test<Top2Router>({}, kRouterDims);
  expect_choice(choice(router, kX), scores_of(kX, router.parameter("weight"), true), 2, 1, true);
}

TEST(TopKRouter, ScoresAndWeights) {
  for (const bool use_softmax : {true, false}) {
    for (const ExpertWeights weights : {ExpertWeights::kSumToOne, ExpertWeights::kScores}) {
      TopKRouter::Config cfg{.top_k = 3, .weights = weights};
      if (!use_softmax) cfg.score = {"sigmoid", &sigmoid};
      auto router = build_for_test<TopKRouter>(cfg, kRouterDims);
      expect_choice(choice(router, kX), scores_of(kX, router.parameter("weight"), use_softmax), 3,
                    1, weights == ExpertWeights::kSumToOne);
    }
  }
}

TEST(TopKRouter, NoiseIsForTrainingOnly) {
  auto plain = build_for_test<TopKRouter>({.top_k = 2}, kRouterDims),
       noisy = build_for_test<TopKRouter>(
           {.top_k = 2, .noise = RouterNoise{"gumbel", &gumbel_noise}}, kRouterDims);
  EXPECT_EQ(choice(noisy, kX).experts, choice(plain, kX).experts);
  EXPECT_EQ(choice(plain, kX, {.training = true}).experts, choice(plain, kX).experts);
  EXPECT_NE(choice(noisy, kX, {.training = true}).experts, choice(plain, kX).experts);
  EXPECT_NE(choice(noisy, kX, {.training = true, .seed = 1}).experts,
            choice(noisy, kX, {.training = true, .seed = 2}).experts);
}

TEST(BalancedRouter, BiasChangesTheChoiceButNotTheWeights) {
  auto router = build_for_test<BalancedRouter>({.top_k = 2, .routed_scale = 2.5}, kRouterDims);
  auto scores = scores_of(kX, router.parameter("weight"), false);
  expect_choice(choice(router, kX), scores, 2, 2.5, true);

  const HostTensor bias({6}, {-9.0f, -9.0f, 0.0f, -9.0f, 0.0f, -9.0f});
  const Choice biased = choice(router, kX, {.state = {{"balanced_router/bias", bias}}});
  for (auto& row : scores) row[0] = row[1] = row[3] = row[5] = 0;
  expect_choice(biased, scores, 2, 2.5, true);
}

TEST(BalancedRouter, EachTrainingStepMovesTheBiasTowardsBalance) {
  auto router = build_for_test<BalancedRouter>({.top_k = 1, .update_rate = 0.25},
                                               {.model_dim = 3, .num_experts = 3, .num_groups = 1});
  router.set("weight", HostTensor({3, 3}, {1.f, 0.f, 0.f, 0.f, 1.f, 0.f, 0.f, 0.f, 1.f}));
  // Expert 0 gets four tokens, expert 1 gets two, expert 2 gets none.
  HostTensor x(Type{DType::kF32, {1, 6, 3}});
  for (size_t n = 0; n < 6; ++n) x.values<float>()[3 * n + (n < 4 ? 0 : 1)] = 1;
  const auto step = router.call({{"x", x}}, {.training = true});
  EXPECT_EQ(step.state.at("balanced_router/bias"), HostTensor({3}, {-0.25f, 0.0f, 0.25f}));
  EXPECT_TRUE(router.call({{"x", x}}).state.empty()) << "evaluation leaves it as it is";
}

TEST(BalancedRouter, TheBiasReachesBalance) {
  auto router = build_for_test<BalancedRouter>({.top_k = 2, .update_rate = 0.01}, kRouterDims);
  // All tokens share a direction that favours the same experts.
  HostTensor x = normal_values({4, 24, 4}, 9);
  for (size_t i = 0; i < x.values<float>().size(); i += 4) x.values<float>()[i] += 2;
  const auto max_load = [](const testing::LayerResult& step) {
    return step.summaries.at("balanced_router/max_load").at(0);
  };
  testing::LayerResult step = router.call({{"x", x}}, {.training = true});
  const double first = max_load(step);
  for (int i = 0; i < 150; ++i) {
    step.state.at("balanced_router/step_start") = HostTensor::scalar(1.0f);
    step = router.call({{"x", x}}, {.training = true, .state = step.state});
  }
  EXPECT_GT(first, 1.8);
  EXPECT_LT(max_load(step), 1.15);
  EXPECT_GT(step.summaries.at("balanced_router/min_load").at(0), 0.85);
}

TEST(BalancedRouter, TokensChooseExpertsOfTheBestGroups) {
  auto router = build_for_test<BalancedRouter>(
      {.top_k = 2, .num_expert_groups = 3, .top_groups = 1, .losses = {.load_balance = 1}},
      kRouterDims);
  auto scores = scores_of(kX, router.parameter("weight"), false);
  for (auto& row : scores) {
    size_t best = 0;
    for (size_t g = 1; g < 3; ++g) {
      if (row[2 * g] + row[2 * g + 1] > row[2 * best] + row[2 * best + 1]) best = g;
    }
    for (size_t e = 0; e < 6; ++e) row[e] = e / 2 == best ? row[e] : 0;
  }
  expect_choice(choice(router, kX), scores, 2, 2.5, true);
}

// Biases can make scores negative: experts outside of the groups must still not be chosen.
TEST(BalancedRouter, GroupsLimitTheChoiceWithNegativeScores) {
  auto router = build_for_test<BalancedRouter>(
      {.top_k = 4, .num_expert_groups = 3, .top_groups = 2}, kRouterDims);
  const HostTensor bias({6}, {-9.0f, -9.0f, -8.0f, -8.0f, -7.0f, -7.0f});
  const Choice got = choice(router, kX, {.state = {{"balanced_router/bias", bias}}});
  for (int64_t i = 0; i < got.experts.size(); ++i) EXPECT_GE(got.experts.at(i), 2);
}

// Losses.

HostTensor loss_of(const RouterLosses& losses, const HostTensor& x, int64_t num_groups = 1) {
  auto router = build_for_test<TopKRouter>(
      {.top_k = 2, .losses = losses}, {.model_dim = 4, .num_experts = 6, .num_groups = num_groups});
  const testing::LayerFunction fn = router.function({{"x", x}});
  std::vector<HostTensor> out = eval(fn, fn.arguments());
  EXPECT_EQ(out.size(), 3u) << "experts, weights and the only loss";
  return out.back();
}

// The load-balance loss of scores and chosen experts, by its definition.
double balance(const std::vector<std::vector<double>>& scores, size_t first, size_t count,
               size_t k) {
  const size_t experts = scores[0].size();
  std::vector<double> load(experts), share(experts);
  for (size_t n = first; n < first + count; ++n) {
    for (const int64_t e : largest(scores[n], k)) load[e] += 1.0 / static_cast<double>(count * k);
    for (size_t e = 0; e < experts; ++e) share[e] += scores[n][e] / static_cast<double>(count);
  }
  double out = 0;
  for (size_t e = 0; e < experts; ++e) out += load[e] * share[e];
  return out * static_cast<double>(experts);
}

TEST(RouterLosses, EqualTheirDefinitions) {
  auto router = build_for_test<TopKRouter>({.top_k = 2}, kRouterDims);
  const HostTensor& weight = router.parameter("weight");
  const auto scores = scores_of(kX, weight, true);
  const RouterLosses none{.load_balance = 0, .z = 0};
  RouterLosses losses = none;
  losses.load_balance = 0.5;
  EXPECT_NEAR(loss_of(losses, kX).at(0), 0.5 * balance(scores, 0, 10, 2), 1e-6);
  EXPECT_NEAR(loss_of(losses, kX, 2).at(0),
              0.25 * (balance(scores, 0, 5, 2) + balance(scores, 5, 5, 2)), 1e-6);
  losses = none;
  losses.sequence_balance = 2;
  EXPECT_NEAR(loss_of(losses, kX).at(0), balance(scores, 0, 5, 2) + balance(scores, 5, 5, 2), 1e-6);

  losses = none;
  losses.z = 3;
  double z = 0;
  for (int64_t n = 0; n < 10; ++n) {
    double sum = 0;
    for (int64_t e = 0; e < 6; ++e) {
      double logit = 0;
      for (int64_t i = 0; i < 4; ++i) logit += kX.at(n * 4 + i) * weight.at(i * 6 + e);
      sum += std::exp(logit);
    }
    z += std::log(sum) * std::log(sum) / 10;
  }
  EXPECT_NEAR(loss_of(losses, kX).at(0), 3 * z, 1e-5);

  losses = none;
  losses.correlation = 1;
  double correlation = 0;
  for (int64_t e = 0; e < 6; ++e) {
    for (int64_t f = 0; f < 6; ++f) {
      double ef = 0, ee = 0, ff = 0;
      for (int64_t i = 0; i < 4; ++i) {
        ef += weight.at(i * 6 + e) * weight.at(i * 6 + f);
        ee += weight.at(i * 6 + e) * weight.at(i * 6 + e);
        ff += weight.at(i * 6 + f) * weight.at(i * 6 + f);
      }
      if (e != f) correlation += 0.5 * std::abs(ef) / std::sqrt(ee * ff) / 36;
    }
  }
  EXPECT_NEAR(loss_of(losses, kX).at(0), correlation, 1e-5);
}

TEST(RouterLosses, EqualLoadsOrScoresHaveALossOfOne) {
  const auto losses = [](const Values& x) {
    return Values{load_balance_loss(x[0], x[1], 1), load_balance_loss(x[0], x[2], 1)};
  };
  const auto out = eval(losses, {HostTensor::ones({1, 2, 4}), HostTensor({1, 2, 2}, {0, 1, 2, 3}),
                                 HostTensor({1, 2, 2}, {0, 1, 0, 1})});
  EXPECT_NEAR(out[0].at(0), 1, 1e-6);
  EXPECT_NEAR(out[1].at(0), 1, 1e-6) << "equal scores alone give one as well";
}

// Sigmoids of logits far below zero are all zero: a token far off, or what padding holds.
TEST(RouterLosses, SharesOfScoresThatAreAllZeroAreZero) {
  const auto shares = [](const Values& x) { return Values{shares_of(sigmoid(x[0]))}; };
  const HostTensor logits({2, 3}, {-1e4, -1e4, -1e4, 0.0, 0.0, -1e4});
  EXPECT_THAT(testing::elements(eval(shares, {logits})[0]),
              ::testing::ElementsAre(0, 0, 0, 0.5, 0.5, 0));
  const auto gradient =
      testing::gradient_function(shares, {HostTensor({2, 3}, {1, 2, 3, 1, 2, 3})});
  EXPECT_THAT(testing::elements(eval(gradient, {logits})[0]),
              ::testing::ElementsAre(0, 0, 0, -0.125, 0.125, 0));
}

TEST(RouterLosses, HaveGradients) {
  auto router = build_for_test<BalancedRouter>(
      {.top_k = 2, .losses = {.load_balance = 1, .z = 1, .sequence_balance = 1, .correlation = 1}},
      kRouterDims);
  const testing::LayerFunction fn = router.function({{"x", kX}});
  const auto of_losses = [&](const Values& x) {
    const Values all = fn(x);
    return Values(all.begin() + 1, all.end());  // weights and losses
  };
  testing::check_gradients(of_losses, fn.arguments());
}

}  // namespace
}  // namespace axle
