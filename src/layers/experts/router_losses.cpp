#include "layers/experts/router_losses.h"

#include "config/register.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/elementwise/rounding.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/products/einsum.h"
#include "ops/reductions/reduce.h"
#include "ops/reductions/softmax.h"

namespace axle {

Tensor router_z_loss(const Tensor& logits_BTE) { return mean(square(logsumexp(logits_BTE))); }

Tensor load_balance_loss(const Tensor& scores_BTE, const Tensor& experts_BTK, int64_t num_groups) {
  const int64_t num_experts = scores_BTE.dim(2);
  const Tensor shares_GSE = reshape(shares_of(scores_BTE), {num_groups, -1, num_experts});
  const Tensor experts_GN = reshape(experts_BTK, {num_groups, -1});
  const Tensor load_GE = mean(one_hot(experts_GN, num_experts), {1});
  const Tensor share_GE = mean(shares_GSE, {1});
  return mean(load_GE * share_GE) * static_cast<double>(num_experts * num_experts);
}

Tensor expert_correlation(const Tensor& weight_DE) {
  const Tensor weight = astype(weight_DE, DType::kF32);
  const Tensor length_1E = sqrt(reduce_sum(square(weight), {0}, /*keep_dims=*/true));
  const Tensor unit_DE = weight / length_1E;
  const Tensor cosine_EE = einsum("de,df->ef", unit_DE, unit_DE);
  const int64_t num_experts = weight.dim(1);
  const Tensor itself_EE =
      equal(iota({num_experts, num_experts}, 0), iota({num_experts, num_experts}, 1));
  return 0.5 * mean(select(itself_EE, 0, abs(cosine_EE)));
}

Tensor shares_of(const Tensor& scores) {
  return scores / reduce_sum(scores, {scores.rank() - 1}, /*keep_dims=*/true);
}

AXLE_REGISTER(RouterLosses)

}  // namespace axle
