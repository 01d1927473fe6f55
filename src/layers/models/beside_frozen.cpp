#include "layers/models/beside_frozen.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/register.h"
#include "layers/models/model.h"
#include "layers/models/token_losses.h"
#include "nn/init_rules.h"
#include "nn/invocation.h"
#include "ops/annotate.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"

namespace axle {

BesideFrozen::BesideFrozen(const Part& trained, const Part& frozen, const Scope& scope,
                           const std::vector<std::string>& own)
    : Model(scope),
      trained_part_(trained.field),
      trained_(child(trained.field, trained.config, {})),
      frozen_(child(frozen.field, frozen.config, {})) {
  if (trained_->vocab_size() != frozen_->vocab_size()) {
    fail(frozen.field, fmt::format("must have the vocabulary of the {}, got {} and {} token ids",
                                   trained.field, frozen_->vocab_size(), trained_->vocab_size()));
  }
  const Tree<ParamSpec> there = trained_->param_specs();
  const auto is_own = [&](const std::string& path) {
    return std::ranges::any_of(own, [&](const auto& one) { return matches_path(one, path); });
  };
  for (const auto& [path, spec] : frozen_->param_specs()) {
    if (is_own(path)) continue;
    const auto found = there.find(twin(path));
    if (found == there.end() || found->second.type() != spec.type()) {
      fail(frozen.field,
           fmt::format("must have the parameters that it reads from the {}, got {} {}, which is "
                       "{} there; match it with a pattern of 'own'",
                       trained.field, path, to_text(spec.type()),
                       found == there.end() ? "none" : to_text(found->second.type())));
    }
    shared_.insert(path);
  }
}

std::string BesideFrozen::twin(const std::string& path) const {
  return trained_->path() + path.substr(frozen_->path().size());
}

Tree<ParamSpec> BesideFrozen::state_specs() const {
  Tree<ParamSpec> out = Layer::state_specs();
  for (const auto& [path, spec] : frozen_->param_specs())
    if (!shared_.contains(path)) out.emplace(path, spec);
  return out;
}

std::vector<std::string> BesideFrozen::read_by_frozen() const {
  std::vector<std::string> out;
  for (const std::string& path : shared_) out.push_back(twin(path));
  return out;
}

void BesideFrozen::complete_start(Tree<HostTensor>& given) const {
  if (!shares()) return;
  const auto copy = [&](const std::string& from, const std::string& to, DType dtype) {
    const auto found = given.find(from);
    if (found != given.end() && !given.contains(to)) given.emplace(to, found->second.astype(dtype));
  };
  for (const auto& [path, spec] : frozen_->param_specs()) {
    if (!shared_.contains(path)) copy(twin(path), join_path(kLayerStatePath, path), *spec.dtype);
  }
  for (const auto& [path, spec] : frozen_->state_specs())
    copy(join_path(kLayerStatePath, twin(path)), join_path(kLayerStatePath, path), *spec.dtype);
}

Tensor BesideFrozen::call_frozen(const std::function<Tensor()>& fn) const {
  const Invocation& outer = Invocation::current();
  Tree<Tensor> parameters, state;
  for (const auto& [path, spec] : frozen_->param_specs()) {
    if (!shares()) {
      parameters.emplace(path, outer.stored_state(path));
      continue;
    }
    // What is trained and what is not are computed with in one dtype.
    const Tensor& there = outer.parameter(twin(path));
    parameters.emplace(path, shared_.contains(path)
                                 ? stop_gradient(there)
                                 : astype(outer.stored_state(path), there.dtype()));
  }
  for (const auto& [path, spec] : frozen_->state_specs())
    state.emplace(path, outer.stored_state(path));
  InvocationOptions options{.state = std::move(state),
                            .summaries = false,
                            .in_loop = outer.options().in_loop,
                            .mesh = outer.options().mesh};
  if (shares()) options.compute_dtype = outer.options().compute_dtype;
  const Invocation alone(outer.path(), std::move(parameters), std::move(options));
  return fn();
}

Tree<Tensor> BesideFrozen::initialize(const random::Key& key) const {
  return trained_->initialize(KeySequence(key).next());
}

Tree<StateSpec> BesideFrozen::decode_state_specs(const DecodeDims& dims) const {
  return trained_->decode_state_specs(dims);
}

ModelOutput BesideFrozen::forward(const Tree<Tensor>& batch) {
  const bool beside = is_training() || evaluates_frozen(batch);
  return beside ? forward_beside(batch) : trained_(batch);
}

namespace {

// Tokens of probability 0 count 0, also where the other model's probability is 0.
Tensor kl(const Tensor& log_p, const Tensor& log_q) {
  const Tensor p = exp(log_p);
  return reduce_sum(select(p > 0, p * (log_p - log_q), 0), {-1});
}

}  // namespace

Tensor ForwardKL::operator()(const Predictions& log_probs) const {
  return kl(log_probs.teacher, log_probs.student);
}

Tensor ReverseKL::operator()(const Predictions& log_probs) const {
  return kl(log_probs.student, log_probs.teacher);
}

AXLE_REGISTER(ForwardKL)
AXLE_REGISTER(ReverseKL)

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
