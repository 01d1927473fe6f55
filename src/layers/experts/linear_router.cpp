#include "layers/experts/linear_router.h"

#include <fmt/format.h>

#include "config/register.h"
#include "nn/real_tokens.h"
#include "ops/annotate.h"
#include "ops/elementwise/activations.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exponential.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/products/dot.h"
#include "ops/reductions/reduce.h"
#include "ops/reductions/softmax.h"

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

}  // namespace axle
