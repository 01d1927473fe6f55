#include "layers/models/distillation.h"

#include <fmt/format.h>

#include "config/register.h"
#include "layers/models/frozen_call.h"
#include "nn/key_sequence.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/reductions/softmax.h"

namespace axle {

Distillation::Distillation(const Config& cfg, const Dims&, const Scope& scope)
    : Model(scope),
      divergence_(cfg.divergence),
      temperature_(cfg.temperature),
      hard_weight_(cfg.hard_weight),
      soft_weight_(cfg.soft_weight),
      student_(child("student", cfg.student, {})),
      teacher_(child("teacher", cfg.teacher, {})) {
  if (hard_weight_ + soft_weight_ == 0)
    note("soft_weight", "expected a positive soft_weight or hard_weight, got 0 for both");
  if (student_->vocab_size() != teacher_->vocab_size()) {
    fail("teacher", fmt::format("must have the vocabulary of the student, got {} and {} token ids",
                                teacher_->vocab_size(), student_->vocab_size()));
  }
}

Tree<ParamSpec> Distillation::state_specs() const {
  return with_frozen(Layer::state_specs(), *teacher_);
}

Tree<Tensor> Distillation::initialize(const random::Key& key) const {
  return student_->initialize(KeySequence(key).next());
}

Tree<StateSpec> Distillation::decode_state_specs(const DecodeDims& dims) const {
  return student_->decode_state_specs(dims);
}

ModelOutput Distillation::forward(const Tree<Tensor>& batch) {
  if (!is_training()) return student_(batch);
  const auto log_probs = [&](const Tensor& logits) {
    return log_softmax(astype(logits, wide_dtype(logits.dtype())) / temperature_);
  };
  const TokenLoss divergence{
      .name = "distillation",
      .weight = soft_weight_ * temperature_ * temperature_,
      .cross_entropy_weight = hard_weight_,
      .inputs = {call_frozen(*teacher_, [&] { return teacher_->hidden(batch); })},
      .losses = [&](const Tensor& logits_BtV, const Values& inputs) {
        const Tensor by_teacher =
            call_frozen(*teacher_, [&] { return teacher_->logits_of(inputs[0]); });
        return divergence_({log_probs(logits_BtV), log_probs(by_teacher)});
      }};
  return student_->with_token_loss(batch, divergence);
}

AXLE_REGISTER(Distillation)

}  // namespace axle
