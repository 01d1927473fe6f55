#include "layers/experts/router.h"

#include "config/register.h"
#include "layers/moving_average.h"
#include "nn/statistic.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"

namespace axle {

AdaptiveLossScale::AdaptiveLossScale(const Config& cfg, const Dims&, const Scope& scope)
    : LayerRole(scope), cfg_(cfg) {
  declare_state("log_scale", {});
  declare_state("average", {});
  declare_state("count", {.dtype = DType::kI32});
}

Tensor AdaptiveLossScale::forward(const Tensor& dropped_K) {
  const Tensor overload =
      cfg_.overload == Overload::kMean ? mean(dropped_K) : reduce_max(dropped_K, {0});
  const Tensor count = state("count") + 1;
  const Tensor average =
      next_average(state("average"), stop_gradient(overload), count, *cfg_.min_weight);
  const Tensor is_high = astype(average > *cfg_.max_overload, DType::kF32);
  const Tensor is_low = astype(average < cfg_.min_overload, DType::kF32);
  const Tensor log_scale = state("log_scale") + cfg_.log_step * (is_high - is_low);
  if (is_training()) {
    const auto some = has_tokens();  // a batch of padding alone says nothing
    const auto update = [&](const char* name, const Tensor& value) {
      set_state(name, some ? select(*some, value, state(name)) : value);
    };
    update("count", count);
    update("average", average);
    update("log_scale", log_scale);
  }
  const Tensor scale = exp(log_scale);
  add_summary("overload", average);
  add_summary("scale", scale);
  return scale;
}

AXLE_REGISTER(AdaptiveLossScale::Dims)
AXLE_REGISTER(AdaptiveLossScale)

TokenGroups::TokenGroups(const Tensor& x, int64_t num_groups, const std::optional<Tensor>& is_real,
                         GroupBorders borders)
    : rows_(x.dim(0)),
      length_(x.dim(1)),
      groups_(borders == GroupBorders::kRows ? rows_ : num_groups),
      size_(rows_ * length_ / groups_) {
  if (!is_real) return;
  if (borders == GroupBorders::kTokens && groups_ > 1)
    divide_tokens(reshape(*is_real, {rows_ * length_}));
  else
    is_real_NS_ = reshape(*is_real, {groups_, size_});
}

// The first `longer` groups have one token more than the others.
void TokenGroups::divide_tokens(const Tensor& is_real_M) {
  const Tensor real_M = astype(is_real_M, DType::kI32);
  const Tensor total = sum(real_M);
  const Tensor least = total / groups_, longer = total - least * groups_;
  const Tensor group_N = iota({groups_}, 0);
  const Tensor begin_N = group_N * least + minimum(group_N, longer);
  const Tensor tokens_N = least + astype(group_N < longer, DType::kI32);

  const Tensor place_NS = iota({groups_, size_}, 1);
  is_real_NS_ = place_NS < expand_dims(tokens_N, 1);
  const Tensor in_order_M = argsort(astype(logical_not(is_real_M), DType::kI32));
  const Tensor token_NS = minimum(place_NS + expand_dims(begin_N, 1), rows_ * length_ - 1);

  const Tensor token_M = cumsum(real_M, 0) - real_M;
  const Tensor in_longer = longer * (least + 1);
  const Tensor group_M = select(token_M < in_longer, token_M / (least + 1),
                                longer + (token_M - in_longer) / maximum(least, 1));
  const Tensor place_M = group_M * size_ + token_M - take(begin_N, minimum(group_M, groups_ - 1));
  moves_ = {.position_NS = take(in_order_M, token_NS),
            .place_M = minimum(place_M, rows_ * length_ - 1),
            .is_real_M = is_real_M};
}

Tensor TokenGroups::divided(const Tensor& t_BT) const {
  if (moves_) return take(flatten(t_BT, 0, 1), moves_->position_NS);
  Shape shape = t_BT.shape();
  shape[0] = groups_;
  shape[1] = size_;
  return reshape(t_BT, shape);
}

Tensor TokenGroups::joined(const Tensor& t_NS) const {
  Shape shape = t_NS.shape();
  shape[0] = rows_;
  shape[1] = length_;
  if (!moves_) return reshape(t_NS, shape);
  const Tensor t_M = take(flatten(t_NS, 0, 1), moves_->place_M);
  Shape ones(shape.size(), 1);
  ones[0] = rows_;
  ones[1] = length_;
  return select(broadcast_to(reshape(moves_->is_real_M, ones), shape), reshape(t_M, shape), 0);
}

void Router::check_result(const Routing& routing, const Tensor& x_BTD) const {
  const Shape choices = {x_BTD.dim(0), x_BTD.dim(1), num_choices()};
  expect_result(routing.experts_BTK, {DType::kI32, choices}, "experts");
  expect_result(routing.weights_BTK, {DType::kF32, choices}, "weights");
  for (const auto& [name, loss] : routing.losses)
    expect_result(loss, {DType::kF32, {}}, "the loss " + name);
}

AXLE_REGISTER(RouterDims)

template class LayerRole<Router, Router::Signature>;

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
