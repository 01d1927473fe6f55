// The learner: gradient transforms, an optimizer and what is kept beside the parameters.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/text/enum_text.h"
#include "learn/adamw.h"
#include "learn/gradient_transform.h"
#include "learn/param_ema.h"

namespace axle {

/// Which global norms a step reports; each costs a pass over as many bytes as the parameters have.
enum class NormMetrics { kGradient, kAll };
constexpr auto texts_of(NormMetrics) {
  return std::to_array<EnumText<NormMetrics>>({{NormMetrics::kGradient, "gradient"}, {NormMetrics::kAll, "all"}});
}

struct LearnerInputs {
  const Tree<Tensor>& params;
  const Tree<Tensor>& gradients;
  const Tree<Tensor>& state;
  /// Global norm of `gradients`, f32 scalar, where the caller knows it.
  Tensor gradient_norm = {};
};
struct LearnerOutputs {
  Tree<Tensor> params;
  Tree<Tensor> state;
  Tree<Tensor> metrics;  // f32 scalars
};

/// Transforms the gradients in order, lets the optimizer make updates of them and adds these to the
/// parameters.
///
/// State, by path: "count" (i32, updates made), "optimizer/...", "transforms/<i>/..." and, with an
/// ema, "ema/<path of the parameter>" in f32.
class Learner {
 public:
  using Role = Learner;
  struct Dims {
    const Tree<ParamSpec>& params;
    /// Steps of the run, for schedules that end with it; none: each must know its own end.
    std::optional<int64_t> run_steps = {};
  };
  struct Config {
    /// From gradients to updates.
    Child<Optimizer> optimizer = AdamW::Config{};
    /// Before the optimizer: ClipByGlobalNorm and the like.
    std::vector<Child<GradientTransform>> transforms = {};
    /// None: no average is kept.
    std::optional<ParamEma> ema = {};
    /// Which global norms a step reports.
    NormMetrics norms = NormMetrics::kGradient;
    AXLE_CONFIG(Learner, optimizer, transforms, ema, norms)
  };
  Learner(const Config& cfg, const Dims& dims, const Scope& scope);
  virtual ~Learner() = default;

  virtual Tree<ParamSpec> state_specs() const;
  /// Traced.
  virtual Tree<Tensor> initialize(const Tree<Tensor>& params) const;
  /// Traced: one update, whatever the numbers: whether it is one to keep, the caller decides.
  ///
  /// Metrics: "grad_norm" (before any transform), "learning_rate"; with kAll also "param_norm" and
  /// "update_norm", of the result.
  virtual LearnerOutputs apply(const LearnerInputs& in) const;

 private:
  Config cfg_;
  Tree<ParamSpec> params_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<std::unique_ptr<GradientTransform>> transforms_;
};

}  // namespace axle
