// Direct preference optimization: a model learns to prefer one of two answers.
//
// Source: Rafailov et al. 2023, "Direct Preference Optimization: Your Language Model is Secretly a
// Reward Model", arXiv 2305.18290, equation 7. Label smoothing: Mitchell 2023, "A note on DPO with
// noisy preferences", equation 3.
#pragma once

#include "layers/models/default_model.h"

namespace axle {

/// A row of a batch holds a pair: the conversation with the answer that is preferred in segment 1,
/// the one with the other answer in segment 2. The targets are the tokens of the answers.
///
/// The reward of an answer is beta * (log p(answer) - log p_reference(answer)), with sums over its
/// tokens. The loss is the mean over the pairs of -log(sigmoid(margin)), where the margin is the
/// difference of both rewards, plus the auxiliary losses of the policy.
///
/// The reference is never changed: as the teacher of Distillation, its parameters are state of this
/// layer. A new run takes both models from the folder of --init-from. Evaluation, decoding and the
/// export of parameters see the policy alone, so an evaluation reports its cross entropy.
///
/// Parameters: policy/.... State: reference/... and the state of the policy.
/// Metrics in training, means over the pairs: "preference_loss"; "preferred" (the share of pairs
/// with a positive margin, half of those with none); "margin"; "chosen_reward" and
/// "rejected_reward". "num_targets" counts the pairs.
/// Throws ConfigError at construction if the vocabularies differ; on a call in training if the
/// batch has no segment ids.
class PreferenceLM final : public Model {
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
    AXLE_CONFIG(PreferenceLM, policy, reference, beta, label_smoothing)
  };
  PreferenceLM(const Config& cfg, const Dims&, const Scope& scope);
  bool can_decode() const override { return true; }
  int64_t vocab_size() const override { return policy_->vocab_size(); }
  std::optional<int64_t> max_seq_len() const override { return policy_->max_seq_len(); }
  std::vector<const Model*> frozen_models() const override { return {&*reference_}; }
  std::vector<std::string> starting_parts() const override { return {"policy", "reference"}; }
  Tree<ParamSpec> param_specs() const override { return policy_->param_specs(); }
  Tree<ParamSpec> state_specs() const override;
  Tree<Tensor> initialize(const random::Key& key) const override;
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override;

 protected:
  ModelOutput forward(const Tree<Tensor>& batch) override;
  Tensor hidden_forward(const Tree<Tensor>& batch) override { return policy_->hidden(batch); }
  Tensor head_forward(const Tensor& x_BTD) override { return policy_->logits_of(x_BTD); }
  Tensor logits_forward(const Tree<Tensor>& batch) override { return policy_->logits(batch); }
  Tensor next_logits_forward(const Tree<Tensor>& batch) override {
    return policy_->next_logits(batch);
  }

 private:
  double beta_, label_smoothing_;
  Handle<Model> policy_, reference_;
};

}  // namespace axle
