// The learner: gradient transforms, an optimizer and an optional average of the parameters.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/text/enum_text.h"
#include "learn/adamw.h"
#include "learn/gradient_transform.h"
#include "learn/param_ema.h"

namespace axle {

/// Selects the global norms that a step reports. Each norm costs a pass over as many elements as
/// the parameters have.
enum class NormMetrics { kGradient, kAll };
constexpr auto texts_of(NormMetrics) {
  return std::to_array<EnumText<NormMetrics>>(
      {{NormMetrics::kGradient, "gradient"}, {NormMetrics::kAll, "all"}});
}

struct LearnerInputs {
  const Tree<Tensor>& params;
  const Tree<Tensor>& gradients;
  const Tree<Tensor>& state;
  /// Global norm of `gradients`, an f32 scalar; none: apply() computes it.
  Tensor gradient_norm = {};
};
struct LearnerOutputs {
  Tree<Tensor> params;
  Tree<Tensor> state;
  Tree<Tensor> metrics;  // f32 scalars
};

/// Applies the transforms to the gradients in order, computes updates with the optimizer and adds
/// them to the parameters.
///
/// State, by path: "count" (i32, number of updates made), "optimizer/...", "transforms/<i>/..."
/// and, if `ema` is set, "ema/<path of the parameter>" in f32.
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
    /// Moving average of the parameters; none: no average is kept.
    std::optional<ParamEma> ema = {};
    /// Global norms that a step reports.
    NormMetrics norms = NormMetrics::kGradient;
    AXLE_CONFIG(Learner, optimizer, transforms, ema, norms)
  };
  Learner(const Config& cfg, const Dims& dims, const Scope& scope);
  virtual ~Learner() = default;

  virtual Tree<ParamSpec> state_specs() const;
  /// Traced: returns the state before the first update.
  virtual Tree<Tensor> initialize(const Tree<Tensor>& params) const;
  /// Traced: makes one update, also if the numbers are not finite. The caller decides whether to
  /// keep the result.
  ///
  /// Metrics: "grad_norm" (before all transforms) and "learning_rate"; with kAll also "param_norm"
  /// (after the update) and "update_norm".
  virtual LearnerOutputs apply(const LearnerInputs& in) const;

 private:
  Config cfg_;
  Tree<ParamSpec> params_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<std::unique_ptr<GradientTransform>> transforms_;
};

}  // namespace axle
