#include "layers/experts/balanced_router.h"

#include <fmt/format.h>

#include <limits>

#include "config/register.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/rounding.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/movement/sort.h"
#include "ops/reductions/reduce.h"

namespace axle {

BalancedRouter::BalancedRouter(const Config& cfg, const Dims& dims, const Scope& scope)
    : LinearRouter({.num_choices = cfg.top_k, .logit_cap = cfg.logit_cap, .losses = cfg.losses},
                   dims, scope),
      cfg_(cfg) {
  check_groups();
  declare_state("bias", {.shape = {dims.num_experts}});
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

void BalancedRouter::update_bias(const Tensor& experts_BTK) {
  const Tensor count_E = counts_of(experts_BTK, num_experts()), bias_E = state("bias");
  const Tensor direction_E = astype(sign(mean(count_E) - count_E), bias_E.dtype());
  set_state("bias", bias_E + cfg_.update_rate * direction_E);
}

Routing BalancedRouter::forward(const Tensor& x_BTD) {
  const Tensor logits_BTE = logits(x_BTD), scores_BTE = cfg_.score(logits_BTE);
  const Tensor biased_BTE = stop_gradient(scores_BTE) + astype(state("bias"), scores_BTE.dtype());
  const Tensor experts_BTK = top_k(within_top_groups(biased_BTE), num_choices()).second;
  if (is_training()) update_bias(experts_BTK);
  const Tensor weights_BTK =
      cfg_.routed_scale * shares_of(take_along_axis(scores_BTE, experts_BTK));
  return routing(logits_BTE, scores_BTE, experts_BTK, weights_BTK, num_choices());
}

AXLE_REGISTER(BalancedRouter)

}  // namespace axle
