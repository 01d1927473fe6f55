#include "layers/experts/router_losses.h"

#include "config/register.h"
#include "nn/real_tokens.h"
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
namespace {

// Sigmoids of logits below -104 are zero in f32. If all are, so are their shares, not 0 / 0.
// Source: the published code of DeepSeek-V3.
constexpr double kLeastSum = 1e-20;

}  // namespace

Tensor router_z_loss(const Tensor& logits_BTE) {
  return mean_of_tokens(square(logsumexp(logits_BTE, -1, /*keep_dims=*/true)));
}

Tensor load_balance_loss(const Tensor& scores_BTE, const Tensor& experts_BTK, int64_t num_groups,
                         GroupBorders borders) {
  const int64_t num_experts = scores_BTE.dim(2);
  const TokenGroups groups(scores_BTE, num_groups, real_tokens(scores_BTE), borders);
  const Tensor shares_GSE = groups.divided(shares_of(scores_BTE));
  const Tensor chosen_GSE = mean(one_hot(groups.divided(experts_BTK), num_experts), {2});
  std::optional<Tensor> real_GS1;
  if (groups.is_real()) real_GS1 = expand_dims(*groups.is_real(), 2);
  const Tensor load_GE = squeeze(mean_of_real(chosen_GSE, {1}, real_GS1), {1});
  const Tensor share_GE = squeeze(mean_of_real(shares_GSE, {1}, real_GS1), {1});
  const Tensor loss_G = reduce_sum(load_GE * share_GE, {1}) * static_cast<double>(num_experts);
  if (!real_GS1) return mean(loss_G);
  const Tensor tokens_G = reduce_sum(astype(*real_GS1, DType::kF32), {1, 2});
  return sum(loss_G * tokens_G) / maximum(sum(tokens_G), 1);
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
  return scores / (reduce_sum(scores, {scores.rank() - 1}, /*keep_dims=*/true) + kLeastSum);
}

AXLE_REGISTER(RouterLosses)

}  // namespace axle
