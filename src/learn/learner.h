// The learner: gradient transforms, an optimizer and an optional average of the parameters.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text/text.h"
#include "base/tree.h"
#include "learn/optimizer.h"
#include "learn/optimizers/adam.h"
#include "learn/schedule.h"

namespace axle {

// The exponential moving average of the parameters, for evaluation.
//
// Source: Polyak & Juditsky 1992, "Acceleration of stochastic approximation by averaging".

/// average' = decay * average + (1 - decay) * param. The average starts at the initial parameters.
struct ParamEma {
  /// Weight of the old average at each step, from 0 to 1.
  Schedule decay = ConstantRate{.value = 0.9999};
  static constexpr std::string_view kFromNumber = "decay";
  AXLE_CONFIG(ParamEma, decay)
};

/// Decay 1/2, 2/3, 3/4, ... while step < warmup_steps, so that the average soon forgets early
/// values; then `decay`.
struct EmaDecay {
  /// Weight of the old average from warmup_steps on.
  Fraction decay = 0.9999;
  /// First step that uses `decay`.
  NonNegative<int64_t> warmup_steps = 1;
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(EmaDecay, decay, warmup_steps)
};

/// Traced: returns the next average of each parameter, in the dtype of the average.
Tree<Tensor> update_ema(const ParamEma& ema, const Tree<Tensor>& average,
                        const Tree<Tensor>& params, const Tensor& step);

/// Selects the global norms that a step reports. Each norm costs a pass over as many elements as
/// the parameters have.
enum class NormMetrics { kGradient, kAll };
constexpr auto texts_of(NormMetrics) {
  return std::to_array<EnumText<NormMetrics>>(
      {{NormMetrics::kGradient, "gradient"}, {NormMetrics::kAll, "all"}});
}

struct LearnerInputs {
  /// All parameters, frozen ones included.
  const Tree<Tensor>& params;
  /// Gradients of the trained parameters; gradients of frozen parameters are ignored.
  const Tree<Tensor>& gradients;
  const Tree<Tensor>& state;
  /// Global norm of the gradients of trained parameters, an f32 scalar; none: apply() computes it.
  Tensor gradient_norm = {};
  /// What measure() returned in this step.
  Tree<Tensor> measured = {};
};
struct LearnerOutputs {
  Tree<Tensor> params;
  Tree<Tensor> state;
  Tree<Tensor> metrics;  // f32 scalars
};

/// Applies the transforms to the gradients in order, computes updates with the optimizer, applies
/// the update transforms to them in order and adds them to the parameters.
///
/// Frozen parameters need no gradient and stay as they are. Neither optimizer nor transforms keep
/// state for them.
///
/// State, by path: "count" (i32, number of updates made), "optimizer/...", "transforms/<i>/...",
/// "update_transforms/<i>/..." and, if `ema` is set, "ema/<path of the parameter>" in f32.
class Learner {
 public:
  using Role = Learner;
  struct Dims {
    const Tree<ParamSpec>& params;
    /// Number of steps of the run, for schedules that end with the run; none: each schedule must
    /// set its own end.
    std::optional<int64_t> run_steps = {};
  };
  struct Config {
    /// Computes updates from gradients.
    Child<Optimizer> optimizer = AdamW::Config{};
    /// Applied to the gradients before the optimizer, in order; for example ClipByGlobalNorm.
    std::vector<Child<GradientTransform>> transforms = {};
    /// Applied to the updates of the optimizer, in order; for example ScaleByPath.
    std::vector<Child<GradientTransform>> update_transforms = {};
    /// Patterns of the paths of parameters that are not trained.
    std::vector<std::string> frozen = {};
    /// Patterns of the paths of parameters that are trained although `frozen` matches them.
    std::vector<std::string> trained = {};
    /// Names of parameters (the last parts of their paths) whose weights do not decay, with any
    /// optimizer: scale and bias. A model need not have them.
    std::vector<std::string> undecayed = {};
    /// Microbatches that a batch is split into, one after another, to save memory. The gradient is
    /// that of the whole batch: microbatches count by their number of targets.
    Positive<int64_t> microbatches = 1;
    /// Rows that a device computes at once, in evaluations, too: a batch of more is split into as
    /// few microbatches as that takes, whatever its size and the number of devices that share its
    /// rows. None: no such limit. More than one of `microbatches` decides alone how a step is
    /// split.
    std::optional<Positive<int64_t>> device_rows = {};
    /// Moving average of the parameters; none: no average is kept.
    std::optional<ParamEma> ema = {};
    /// Global norms that a step reports.
    NormMetrics norms = NormMetrics::kGradient;
    AXLE_CONFIG(Learner, optimizer, transforms, update_transforms, frozen, trained, undecayed,
                microbatches, device_rows, ema, norms)
  };
  /// Throws ConfigError for patterns that match no parameter, and if all parameters are frozen.
  Learner(const Config& cfg, const Dims& dims, const Scope& scope);
  virtual ~Learner() = default;

  /// The parameters that need a gradient.
  const Tree<ParamSpec>& trained() const { return trained_; }
  /// How large the optimizer's updates of them are, before update_transforms.
  Tree<UpdateSize> update_sizes() const { return optimizer_->update_sizes(); }
  /// Number of microbatches that the caller splits a batch of so many rows into, which so many
  /// devices share.
  int64_t microbatches(int64_t rows, int64_t num_shares) const;
  /// The same for an evaluation, which `microbatches` does not split.
  int64_t evaluated_microbatches(int64_t rows, int64_t num_shares) const;
  virtual Tree<ParamSpec> state_specs() const;
  /// Traced: returns the state before the first update.
  virtual Tree<Tensor> initialize(const Tree<Tensor>& params) const;
  /// Traced: returns the parameters at which the next gradient is taken (Optimizer). Takes and
  /// returns all parameters.
  virtual Tree<Tensor> gradient_point(const Tree<Tensor>& params, const Tree<Tensor>& state) const;
  /// Traced: returns what apply() needs of the objective besides the gradient. `params` are the
  /// trained parameters, `state` is the learner's; `step` need not be set.
  virtual Tree<Tensor> measure(const MeasureInputs& in) const;
  /// Traced: makes one update, also if the numbers are not finite. The caller decides whether to
  /// keep the result.
  ///
  /// Metrics: "grad_norm" (before all transforms) and metrics of the optimizer and the transforms,
  /// "learning_rate" among them; with kAll also "param_norm" (after the update) and "update_norm".
  virtual LearnerOutputs apply(const LearnerInputs& in) const;

 private:
  using Transforms = std::vector<std::unique_ptr<GradientTransform>>;

  Tree<ParamSpec> without_frozen(const Scope& scope) const;

  Config cfg_;
  Tree<ParamSpec> params_, trained_;
  std::unique_ptr<Optimizer> optimizer_;
  Transforms transforms_, update_transforms_;
};

/// Returns the fewest microbatches of a batch of so many rows in which each of the `num_shares`
/// devices that share the rows has at most `device_rows`. The rows of one are a multiple of
/// `num_shares` if any number of them allows that.
int64_t fewest_microbatches(int64_t rows, int64_t num_shares, int64_t device_rows);

}  // namespace axle
