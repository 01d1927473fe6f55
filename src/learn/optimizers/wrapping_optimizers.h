// Optimizers around another one: schedule-free averages, and updates that are skipped or clipped.
#pragma once

#include <memory>
#include <optional>

#include "config/fields.h"
#include "learn/optimizer.h"
#include "learn/optimizers/adam.h"

namespace axle {

// Schedule-Free: an average of the iterates replaces a falling learning rate.
//
// Source: Defazio et al. 2024, arXiv 2405.15682, section 2 and algorithm 1.

/// Keeps three points: z, which `inner` moves; x, its weighted average, which is the parameters
/// that are evaluated and saved; and y = (1 - beta) * z + beta * x, where gradients are taken.
///   z' = z + inner's update at y
///   x' = (1 - c) * x + c * z', with c = rate^weight_power / sum of rate^weight_power so far
/// `rate` is the learning rate that inner reports. Give inner a constant rate with warm-up, and no
/// momentum (b1 = 0): beta replaces it.
///
/// Transforms of its updates scale the moves of x alone: z moves by the full rate. So it does not
/// say how large its updates are.
///
/// State, f32: "z/<path>", "weight_sum" and "inner/...".
class ScheduleFree final : public Optimizer {
 public:
  struct Config {
    /// Moves z. Its decay works on y.
    Child<Optimizer> inner = AdamW::Config{.learning_rate = ConstantWithWarmup{}, .b1 = 0};
    /// Weight of the average in the point of the gradient.
    FractionBelowOne beta = 0.9;
    /// Power of the learning rate that weighs an iterate in the average.
    NonNegative<double> weight_power = 2;
    AXLE_CONFIG(ScheduleFree, inner, beta, weight_power)
  };
  ScheduleFree(const Config& cfg, const Dims& dims, const Scope& scope);

  Tree<ParamSpec> state_specs() const override;
  Tree<Tensor> initialize(const Tree<Tensor>& params) const override;
  Tree<Tensor> gradient_point(const Tree<Tensor>& params, const Tree<Tensor>& state) const override;
  Tree<Tensor> measure(const MeasureInputs& in) const override;
  UpdateOutputs update(const UpdateInputs& in) const override;

 private:
  Config cfg_;
  Tree<ParamSpec> params_;
  std::unique_ptr<Optimizer> inner_;
};

/// Moving statistics of the global norms of the gradients that were not skipped; f32 scalars.
struct NormStatistics {
  Tensor count;      // of the norms seen, i32
  Tensor mean;       // moving mean
  Tensor deviation;  // standard deviation about it
};
/// Maps the statistics to the norm from which on an update is skipped: an f32 scalar; traced.
using DropNorm = Fn<Tensor(const NormStatistics& seen)>;

/// The same norm at every step.
struct FixedNorm {
  /// Gradients with at least this norm are skipped.
  Positive<double> value = 100;
  static constexpr std::string_view kFromNumber = "value";
  Tensor operator()(const NormStatistics& seen) const;
  AXLE_CONFIG(FixedNorm, value)
};
/// A multiple of the mean norm. The first norm is never too large.
struct TimesMeanNorm {
  /// Factor of the mean.
  Positive<double> multiplier = 20;
  Tensor operator()(const NormStatistics& seen) const;
  AXLE_CONFIG(TimesMeanNorm, multiplier)
};
/// The mean norm and a multiple of the standard deviation, once enough norms are known.
struct MeanPlusDeviations {
  /// Factor of the standard deviation.
  Positive<double> multiplier = 20;
  /// Nothing is skipped before this number of norms is known.
  NonNegative<int64_t> min_count = 500;
  Tensor operator()(const NormStatistics& seen) const;
  AXLE_CONFIG(MeanPlusDeviations, multiplier, min_count)
};

/// Updates as `inner` does, but for an update whose gradient is not finite or has a global norm of
/// at least drop_norm: it changes neither parameters nor state, and inner does not count it. Other
/// gradients are scaled to a norm of at most max_norm first.
///
/// State: "inner/...", "count" (i32, updates made), "skipped" (i32), "norm_mean" and
/// "norm_square_mean" (f32). Metrics: inner's, and "skipped_updates".
class SkipAndClip final : public Optimizer {
 public:
  struct Config {
    /// Computes the updates that are not skipped.
    Child<Optimizer> inner = AdamW::Config{};
    /// The norm from which on updates are skipped; none: only those that are not finite are.
    std::optional<DropNorm> drop_norm = MeanPlusDeviations{};
    /// Gradients with a larger norm are scaled down to it; none: no clipping.
    std::optional<Positive<double>> max_norm = 1.0;
    /// Added to the norm that max_norm is divided by.
    NonNegative<double> eps = 1e-8;
    /// Decay of the statistics of the norms. The first norms count equally.
    FractionBelowOne norm_decay = 0.99;
    AXLE_CONFIG(SkipAndClip, inner, drop_norm, max_norm, eps, norm_decay)
  };
  SkipAndClip(const Config& cfg, const Dims& dims, const Scope& scope);

  Tree<ParamSpec> state_specs() const override;
  Tree<Tensor> initialize(const Tree<Tensor>& params) const override;
  Tree<Tensor> gradient_point(const Tree<Tensor>& params, const Tree<Tensor>& state) const override;
  Tree<Tensor> measure(const MeasureInputs& in) const override;
  UpdateOutputs update(const UpdateInputs& in) const override;
  Tree<UpdateSize> update_sizes() const override;

 private:
  Config cfg_;
  std::unique_ptr<Optimizer> inner_;
};

}  // namespace axle
