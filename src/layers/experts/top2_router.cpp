#include "layers/experts/top2_router.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/movement/index.h"
#include "ops/movement/sort.h"
#include "ops/reductions/reduce.h"

namespace axle {

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

}  // namespace axle
