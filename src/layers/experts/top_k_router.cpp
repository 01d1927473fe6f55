#include "layers/experts/top_k_router.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/movement/index.h"
#include "ops/movement/sort.h"
#include "ops/random/random.h"

namespace axle {

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

}  // namespace axle
