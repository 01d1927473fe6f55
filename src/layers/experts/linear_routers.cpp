#include "layers/experts/linear_routers.h"

#include <fmt/format.h>

#include <limits>

#include "config/register.h"
#include "nn/statistic.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/random/random.h"
#include "ops/reductions/reductions.h"

namespace axle {

Tensor softmax_scores(const Tensor& logits) { return softmax(logits); }

Tensor counts_of(const Tensor& experts_BTK, int64_t num_experts) {
  const Tensor chosen_BTKE = without_padding(one_hot(experts_BTK, num_experts));
  return reduce_sum(chosen_BTKE, {0, 1, 2});
}

LinearRouter::LinearRouter(const Common& common, const Dims& dims, const Scope& scope)
    : Router(scope),
      common_(common),
      dims_(dims),
      weight_(param("weight", {.shape = {dims.model_dim, dims.num_experts}})) {
  if (common.num_choices > dims.num_experts) {
    fail("top_k", fmt::format("must be at most num_experts, got {} and {}", common.num_choices,
                              static_cast<int64_t>(dims.num_experts)));
  }
}

Tensor LinearRouter::logits(const Tensor& x_BTD) {
  const Tensor logits_BTE = dot(x_BTD, weight_(), {.result_dtype = DType::kF32});
  return common_.logit_cap ? soft_cap(logits_BTE, *common_.logit_cap) : logits_BTE;
}

Routing LinearRouter::routing(const Tensor& logits_BTE, const Tensor& scores_BTE,
                              const Tensor& experts_BTK, const Tensor& weights_BTK,
                              int64_t num_balanced) {
  Routing out{.experts_BTK = name(experts_BTK, "experts"),
              .weights_BTK = name(weights_BTK, "expert_weights")};
  if (decoding()) return out;  // no objective takes losses
  const RouterLosses& weights = common_.losses;
  const auto add = [&](std::string_view loss, double weight, const auto& value_of) {
    if (weight != 0) out.losses.emplace(loss, weight * value_of());
  };
  const Tensor balanced_BTK = slice_in_dim(out.experts_BTK, 2, 0, num_balanced);
  const Tensor load_balance =
      load_balance_loss(scores_BTE, balanced_BTK, dims_.num_groups,
                        borders_of_call(dims_.train_borders, is_training()));
  const Tensor z = router_z_loss(logits_BTE);
  add("load_balance", weights.load_balance, [&] { return load_balance; });
  add("z", weights.z, [&] { return z; });
  add("sequence_balance", weights.sequence_balance,
      [&] { return load_balance_loss(scores_BTE, out.experts_BTK, scores_BTE.dim(0)); });
  add("correlation", weights.correlation, [&] { return expert_correlation(weight_()); });
  add_summary("load_balance_loss", load_balance);
  add_summary("z_loss", z);
  add_load_summaries(scores_BTE, out.experts_BTK);
  return out;
}

void LinearRouter::add_load_summaries(const Tensor& scores_BTE, const Tensor& experts_BTK) {
  const Tensor shares = shares_of(scores_BTE);
  // The largest finite logarithm stands for that of a share of zero.
  const Tensor entropy_BT1 = -reduce_sum(shares * log(maximum(shares, 1e-30)), {2}, true);
  add_summary("entropy", mean_of_tokens(entropy_BT1));
  const Tensor counts_E = counts_of(experts_BTK, num_experts());
  const Tensor load_E = counts_E * (static_cast<double>(num_experts()) / maximum(sum(counts_E), 1));
  add_summary("max_load", reduce_max(load_E, {0}));
  add_summary("min_load", reduce_min(load_E, {0}));
}

AXLE_REGISTER(softmax_scores, "softmax")

Tensor gumbel_noise(const random::Key& key, const Shape& shape) {
  return random::gumbel(key, shape);
}

TopKRouter::TopKRouter(const Config& cfg, const Dims& dims, const Scope& scope)
    : LinearRouter({.num_choices = cfg.top_k, .logit_cap = cfg.logit_cap, .losses = cfg.losses},
                   dims, scope),
      score_(cfg.score),
      weights_(cfg.weights),
      noise_(cfg.noise) {}

Routing TopKRouter::forward(const Tensor& x_BTD) {
  Tensor logits_BTE = logits(x_BTD);
  if (noise_ && is_training()) {
    const random::Key key = Invocation::current().key();
    logits_BTE = logits_BTE + (*noise_)(random::split_each(key)[1], logits_BTE.shape());
  }
  const Tensor scores_BTE = score_(logits_BTE);
  const Tensor experts_BTK = top_k(scores_BTE, num_choices()).second;
  const Tensor chosen_BTK = take_along_axis(scores_BTE, experts_BTK);
  const Tensor weights_BTK =
      weights_ == ExpertWeights::kSumToOne ? shares_of(chosen_BTK) : chosen_BTK;
  return routing(logits_BTE, scores_BTE, experts_BTK, weights_BTK, num_choices());
}

AXLE_REGISTER(gumbel_noise, "gumbel")
AXLE_REGISTER(TopKRouter)

Top2Router::Top2Router(const Config& cfg, const Dims& dims, const Scope& scope)
    : LinearRouter({.num_choices = 2, .logit_cap = cfg.logit_cap, .losses = cfg.losses}, dims,
                   scope) {}

Routing Top2Router::forward(const Tensor& x_BTD) {
  const Tensor logits_BTE = logits(x_BTD), scores_BTE = softmax_scores(logits_BTE);
  const Tensor experts_BTK = top_k(scores_BTE, 2).second;
  const Tensor chosen_BTK = take_along_axis(scores_BTE, experts_BTK);
  const Tensor sum_BT1 = reduce_sum(chosen_BTK, {2}, /*keep_dims=*/true) + 1e-9;
  return routing(logits_BTE, scores_BTE, experts_BTK, chosen_BTK / sum_BT1, /*num_balanced=*/1);
}

AXLE_REGISTER(Top2Router)

SwitchRouter::SwitchRouter(const Config& cfg, const Dims& dims, const Scope& scope)
    : LinearRouter({.num_choices = 1, .logit_cap = cfg.logit_cap, .losses = cfg.losses}, dims,
                   scope) {}

Routing SwitchRouter::forward(const Tensor& x_BTD) {
  const Tensor logits_BTE = logits(x_BTD), scores_BTE = softmax_scores(logits_BTE);
  const Tensor experts_BT1 = top_k(scores_BTE, 1).second;
  const Tensor weights_BT1 = take_along_axis(scores_BTE, experts_BT1);
  return routing(logits_BTE, scores_BTE, experts_BT1, weights_BT1, /*num_balanced=*/1);
}

AXLE_REGISTER(SwitchRouter)

BalancedRouter::BalancedRouter(const Config& cfg, const Dims& dims, const Scope& scope)
    : LinearRouter({.num_choices = cfg.top_k, .logit_cap = cfg.logit_cap, .losses = cfg.losses},
                   dims, scope),
      cfg_(cfg) {
  check_groups();
  for (const char* name : {"bias", "step_bias", "step_load"})
    declare_state(name, {.shape = {dims.num_experts}});
  declare_state("step_start", {.init = Ones{}, .update = StateUpdate::kStepStart});
}

void BalancedRouter::check_groups() const {
  const int64_t groups = cfg_.num_expert_groups, chosen = cfg_.top_groups;
  const auto require = [&](bool holds, std::string_view field, const std::string& what) {
    if (!holds) note(field, what);
  };
  require(num_experts() % groups == 0, "num_expert_groups",
          fmt::format("must divide num_experts, got {} and {}", groups, num_experts()));
  require(chosen <= groups, "top_groups",
          fmt::format("must be at most num_expert_groups, got {} and {}", chosen, groups));
  const int64_t to_choose_from = num_experts() / groups * std::min(chosen, groups);
  require(num_choices() <= to_choose_from, "top_k",
          fmt::format("must be at most the {} experts of {} groups, got {}", to_choose_from,
                      std::min(chosen, groups), num_choices()));
}

Tensor BalancedRouter::within_top_groups(const Tensor& biased_BTE) const {
  const int64_t groups = cfg_.num_expert_groups, size = num_experts() / groups;
  if (cfg_.top_groups == groups) return biased_BTE;
  const Tensor biased = unflatten(biased_BTE, 2, {groups, size});
  const Tensor score_of_group = reduce_sum(top_k(biased, std::min<int64_t>(2, size)).first, {3});
  const Tensor chosen = top_k(score_of_group, cfg_.top_groups).second;
  const Tensor is_chosen = reduce_sum(one_hot(chosen, groups), {2}) > 0;
  return select(repeat(is_chosen, size, 2), biased_BTE, -std::numeric_limits<double>::infinity());
}

Tensor BalancedRouter::routing_bias() {
  if (!is_training()) return state("bias");
  return select(state("step_start") > 0, state("bias"), state("step_bias"));
}

void BalancedRouter::update_bias(const Tensor& step_bias_E, const Tensor& experts_BTK) {
  const Tensor earlier_E = select(state("step_start") > 0, 0, state("step_load"));
  const Tensor load_E =
      earlier_E + astype(counts_of(experts_BTK, num_experts()), earlier_E.dtype());
  set_state("bias", step_bias_E + cfg_.update_rate * sign(mean(load_E) - load_E));
  set_state("step_bias", step_bias_E);
  set_state("step_load", load_E);
  set_state("step_start", zeros_like(state("step_start")));
}

Routing BalancedRouter::forward(const Tensor& x_BTD) {
  const Tensor logits_BTE = logits(x_BTD), scores_BTE = cfg_.score(logits_BTE);
  const Tensor bias_E = routing_bias();
  const Tensor biased_BTE = stop_gradient(scores_BTE) + astype(bias_E, scores_BTE.dtype());
  const Tensor experts_BTK = top_k(within_top_groups(biased_BTE), num_choices()).second;
  if (is_training()) update_bias(bias_E, experts_BTK);
  const Tensor weights_BTK =
      cfg_.routed_scale * shares_of(take_along_axis(scores_BTE, experts_BTK));
  return routing(logits_BTE, scores_BTE, experts_BTK, weights_BTK, num_choices());
}

AXLE_REGISTER(BalancedRouter)

}  // namespace axle
