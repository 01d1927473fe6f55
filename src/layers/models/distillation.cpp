#include "layers/models/distillation.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/reductions/softmax.h"

namespace axle {

Distillation::Distillation(const Config& cfg, const Dims&, const Scope& scope)
    : BesideFrozen({"student", cfg.student}, {"teacher", cfg.teacher}, scope),
      divergence_(cfg.divergence),
      temperature_(cfg.temperature),
      hard_weight_(cfg.hard_weight),
      soft_weight_(cfg.soft_weight) {
  if (hard_weight_ + soft_weight_ == 0)
    note("soft_weight", "expected a positive soft_weight or hard_weight, got 0 for both");
}

ModelOutput Distillation::forward_beside(const Tree<Tensor>& batch) {
  const auto log_probs = [&](const Tensor& logits) {
    return log_softmax(astype(logits, wide_dtype(logits.dtype())) / temperature_);
  };
  const TokenLoss divergence{.name = "distillation",
                             .weight = soft_weight_ * temperature_ * temperature_,
                             .cross_entropy_weight = hard_weight_,
                             .inputs = {call_frozen([&] { return frozen_->hidden(batch); })},
                             .losses = [&](const Tensor& logits_BtV, const Values& inputs) {
                               const Tensor by_teacher =
                                   call_frozen([&] { return frozen_->logits_of(inputs[0]); });
                               return divergence_({log_probs(logits_BtV), log_probs(by_teacher)});
                             }};
  return trained_->with_token_loss(batch, divergence);
}

AXLE_REGISTER(Distillation)

}  // namespace axle
