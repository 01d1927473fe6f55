#include "layers/models/preference_lm.h"

#include "config/register.h"
#include "layers/models/token_batch.h"
#include "layers/models/token_losses.h"
#include "ops/elementwise/activations.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/reductions/reduce.h"

namespace axle {
namespace {

enum Segment { kChosen = 1, kRejected = 2 };

}  // namespace

PreferenceLM::PreferenceLM(const Config& cfg, const Dims&, const Scope& scope)
    : BesideFrozen({"policy", cfg.policy}, {"reference", cfg.reference}, scope, cfg.own),
      policy_(cfg.policy),
      reference_(cfg.reference),
      beta_(cfg.beta),
      label_smoothing_(cfg.label_smoothing) {}

std::vector<Model::StartingPart> PreferenceLM::starting_parts() const {
  std::vector<StartingPart> out = {{"policy", policy_}};
  if (!shares()) out.push_back({"reference", reference_});
  return out;
}

ModelOutput PreferenceLM::forward_beside(const Tree<Tensor>& batch) {
  const Tensor labels_BT = batch_tensor(batch, "target_labels", *this);
  const Tensor segments_BT = batch_tensor(batch, "input_segment_ids", *this);
  const auto is_answer_BT = [&](Segment segment) {
    return (labels_BT >= 0) & equal(segments_BT, static_cast<double>(segment));
  };
  // -log p of each label.
  const Tensor policy_BT = trained_->cross_entropy(batch);
  const Tensor reference_BT = call_frozen([&] { return frozen_->cross_entropy(batch); });
  const Tensor rewards_BT = beta_ * (astype(reference_BT, policy_BT.dtype()) - policy_BT);
  const auto reward_B = [&](Segment segment) {
    return reduce_sum(select(is_answer_BT(segment), rewards_BT, 0), {1});
  };
  const Tensor chosen_B = reward_B(kChosen), rejected_B = reward_B(kRejected);
  const Tensor margin_B = chosen_B - rejected_B;
  const Tensor loss_B =
      (label_smoothing_ - 1) * log_sigmoid(margin_B) - label_smoothing_ * log_sigmoid(-margin_B);

  const Tensor is_pair_B = astype(batch_tensor(batch, "is_pair", *this) > 0, rewards_BT.dtype());
  const Tensor num_pairs = sum(is_pair_B), divisor = maximum(num_pairs, 1);
  const auto mean = [&](const Tensor& x_B) { return sum(x_B * is_pair_B) / divisor; };
  ModelOutput out{.loss = mean(loss_B)};
  const Tensor is_right_B = astype(margin_B > 0, margin_B.dtype());
  const Tensor is_even_B = astype(equal(margin_B, 0), margin_B.dtype());
  out.metrics = {{"preference_loss", out.loss},
                 {"preferred", mean(is_right_B + 0.5 * is_even_B)},
                 {"margin", mean(margin_B)},
                 {"chosen_reward", mean(chosen_B)},
                 {"rejected_reward", mean(rejected_B)}};
  out.metrics.emplace(kNumTargets, num_pairs);
  take_aux_losses(out);
  return out;
}

AXLE_REGISTER(PreferenceLM)

}  // namespace axle
