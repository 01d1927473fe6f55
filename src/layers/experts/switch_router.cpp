#include "layers/experts/switch_router.h"

#include "config/register.h"
#include "ops/movement/index.h"
#include "ops/movement/sort.h"

namespace axle {

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

}  // namespace axle
