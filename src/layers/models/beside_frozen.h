// Models trained beside a frozen one: distillation, and preferences between two answers.
//
// Letters in tensor names:
//   B batch   T positions   D model dim
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "config/config_type.h"
#include "config/fields.h"
#include "ir/tensor.h"
#include "layers/models/model.h"

namespace axle {

/// A model whose parameters are the trained model's below it, and whose state holds the
/// parameters of the frozen one (Model::frozen_models). All but training is a call of the
/// trained model alone: decoding, the export of parameters, and evaluation unless
/// evaluates_frozen() says otherwise.
///
/// The frozen model may have some parameters for itself and read the others from the trained model,
/// which has them at the same paths and does not train them. They are in memory once.
///
/// Throws ConfigError at construction if the vocabularies differ, and for a parameter to read that
/// the trained model does not have.
class BesideFrozen : public Model {
 public:
  bool can_decode() const override { return true; }
  int64_t vocab_size() const override { return trained_->vocab_size(); }
  std::optional<int64_t> max_seq_len() const override { return trained_->max_seq_len(); }
  std::vector<const Model*> frozen_models() const override { return {&*frozen_}; }
  Tree<ParamSpec> param_specs() const override { return trained_->param_specs(); }
  Tree<ParamSpec> state_specs() const override;
  std::vector<std::string> read_by_frozen() const override;
  void complete_start(Tree<HostTensor>& given) const override;
  Tree<Tensor> initialize(const random::Key& key) const override;
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override;
  /// The field that holds the trained model.
  const std::string& trained_part() const { return trained_part_; }

 protected:
  /// A field of the config, and the model in it.
  struct Part {
    std::string field;
    const Child<Model>& config;
  };
  /// `own` are patterns of the paths of parameters that the frozen model does not read from the
  /// trained one.
  BesideFrozen(const Part& trained, const Part& frozen, const Scope& scope,
               const std::vector<std::string>& own = {"**"});

  ModelOutput forward(const Tree<Tensor>& batch) final;
  /// The loss of a call that sees both models.
  virtual ModelOutput forward_beside(const Tree<Tensor>& batch) = 0;
  /// Calls fn() with the parameters and the state of the frozen model, as in a call without
  /// training.
  Tensor call_frozen(const std::function<Tensor()>& fn) const;
  /// True if the frozen model reads parameters of the trained one.
  bool shares() const { return !shared_.empty(); }

  Tensor hidden_forward(const Tree<Tensor>& batch) final { return trained_->hidden(batch); }
  Tensor head_forward(const Tensor& x_BTD) final { return trained_->logits_of(x_BTD); }
  Tensor logits_forward(const Tree<Tensor>& batch) final { return trained_->logits(batch); }
  Tensor next_logits_forward(const Tree<Tensor>& batch) final {
    return trained_->next_logits(batch);
  }

  std::string trained_part_;
  Handle<Model> trained_, frozen_;

 private:
  // The path in the trained model of what the frozen model has at `path`.
  std::string twin(const std::string& path) const;

  std::set<std::string, std::less<>> shared_;  // paths of the frozen model's parameters
};

// Divergences between the predictions of two models.
//
// Letters in tensor names from here on:
//   V vocabulary

/// The predictions of a student and its teacher: log probabilities f32[..., V].
struct Predictions {
  Tensor student, teacher;
};
/// Returns the divergence of each token, f32[...]; 0 for equal predictions, else positive.
using Divergence = Fn<Tensor(const Predictions& log_probs)>;

/// KL(teacher || student) = sum(t * (log(t) - log(s))): the student covers all that the teacher
/// finds likely.
///
/// Source: Hinton et al. 2015, arXiv 1503.02531, section 2.
struct ForwardKL {
  Tensor operator()(const Predictions& log_probs) const;
  AXLE_CONFIG(ForwardKL)
};

/// KL(student || teacher) = sum(s * (log(s) - log(t))): the student avoids what the teacher finds
/// unlikely.
///
/// Source: Gu et al. 2024, "MiniLLM", arXiv 2306.08543, section 2.
struct ReverseKL {
  Tensor operator()(const Predictions& log_probs) const;
  AXLE_CONFIG(ReverseKL)
};

// Training of a model, the student, to predict what a larger one, the teacher, predicts.
//
// Source: Hinton et al. 2015, "Distilling the Knowledge in a Neural Network", arXiv 1503.02531,
// section 2.

/// Trains the student on hard_weight * cross_entropy + soft_weight * temperature^2 * divergence,
/// plus its own further losses. The divergence is that of the two predictions at this temperature,
/// a mean over the targets. If the student computes its losses by chunks of positions, the logits
/// of the teacher are computed by the same chunks.
///
/// The teacher is never changed. Its parameters are state of this layer: they have no gradient and
/// no optimizer state, and a checkpoint of the run holds them. They are stored and computed with in
/// the dtype of the teacher's slot (teacher.@dtype), for any compute dtype of the run. A new
/// run takes them from a run of the teacher (Model::frozen_models). Evaluation, decoding and the
/// export of parameters see the student alone.
///
/// Parameters: student/.... State: teacher/... and the state of the student.
/// Metrics: the student's; in training "distillation", the mean divergence.
/// Throws ConfigError at construction if the vocabularies differ, or if both weights are 0.
class Distillation final : public BesideFrozen {
 public:
  struct Config {
    /// The model that is trained.
    Child<Model> student = default_model();
    /// The model whose predictions it learns.
    Child<Model> teacher = {};
    /// How predictions are compared.
    Divergence divergence = ForwardKL{};
    /// Divides the logits of both models before they are compared.
    Positive<double> temperature = 1;
    /// Weight of the cross entropy with the targets.
    NonNegative<double> hard_weight = 0.5;
    /// Weight of the divergence from the teacher.
    NonNegative<double> soft_weight = 0.5;
    AXLE_CONFIG(Distillation, student, teacher, divergence, temperature, hard_weight, soft_weight)
  };
  Distillation(const Config& cfg, const Dims&, const Scope& scope);

 protected:
  ModelOutput forward_beside(const Tree<Tensor>& batch) override;

 private:
  Divergence divergence_;
  double temperature_, hard_weight_, soft_weight_;
};

// Direct preference optimization: a model learns to prefer one of two answers.
//
// Source: Rafailov et al. 2023, "Direct Preference Optimization: Your Language Model is Secretly a
// Reward Model", arXiv 2305.18290, equation 7. Label smoothing: Mitchell 2023, "A note on DPO with
// noisy preferences", equation 3.

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
