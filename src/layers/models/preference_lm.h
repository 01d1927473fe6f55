// Direct preference optimization: a model learns to prefer one of two answers.
//
// Source: Rafailov et al. 2023, "Direct Preference Optimization: Your Language Model is Secretly a
// Reward Model", arXiv 2305.18290, equation 7. Label smoothing: Mitchell 2023, "A note on DPO with
// noisy preferences", equation 3.
#pragma once

#include "layers/models/beside_frozen.h"

namespace axle {

/// A row of a batch holds a pair if its is_pair is 1 (i32[B]): the conversation with the answer
/// that is preferred in segment 1, the one with the other answer in segment 2. The targets are the
/// tokens of the answers.
///
/// The reward of an answer is beta * (log p(answer) - log p_reference(answer)), with sums over its
/// tokens. The loss is the mean over the pairs of -log(sigmoid(margin)), where the margin is the
/// difference of both rewards, plus the auxiliary losses of the policy.
///
/// The reference is never changed: as the teacher of Distillation, its own parameters are state of
/// this layer. A new run takes both models from the folder of --init-from. Decoding and the export
/// of parameters see the policy alone. So does an evaluation of a batch without is_pair: it reports
/// the cross entropy of a text.
///
/// Parameters: policy/.... State: reference/... and the state of the policy.
/// Metrics, means over the pairs: "preference_loss"; "preferred" (the share of pairs
/// with a positive margin, half of those with none); "margin"; "chosen_reward" and
/// "rejected_reward". "num_targets" counts the pairs.
/// Throws ConfigError at construction if the vocabularies differ, and for parameters that only the
/// reference has and that `own` does not match; on a call in training if the
/// batch has no is_pair or segment ids.
class PreferenceLM final : public BesideFrozen {
 public:
  struct Config {
    /// The model that is trained.
    Child<Model> policy = default_model();
    /// The model that it starts from.
    Child<Model> reference = {};
    /// How much of the reference the policy keeps: the larger, the more.
    Positive<double> beta = 0.1;
    /// The share of pairs that are taken to be the wrong way round.
    Ranged<double, Bounds{.min = 0, .max = 0.5}> label_smoothing = 0;
    /// Patterns of the paths of parameters that the reference has for itself. It reads all others
    /// from the policy, which must have them frozen: of a model with adapters, all but these.
    std::vector<std::string> own = {"**"};
    AXLE_CONFIG(PreferenceLM, policy, reference, beta, label_smoothing, own)
  };
  PreferenceLM(const Config& cfg, const Dims&, const Scope& scope);
  std::vector<StartingPart> starting_parts() const override;

 protected:
  std::optional<std::string> frozen_evaluation_name() const override { return "is_pair"; }
  ModelOutput forward_beside(const Tree<Tensor>& batch) override;

 private:
  Child<Model> policy_, reference_;
  double beta_, label_smoothing_;
};

}  // namespace axle
