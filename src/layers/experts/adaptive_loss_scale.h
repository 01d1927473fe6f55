// A factor of the load-balance loss that follows how many tokens are dropped.
//
// Source: AXLearn, common/mixture_of_experts.py (AdaptiveLoadBalanceLoss).
#pragma once

#include "base/text/text.h"
#include "config/fields.h"
#include "nn/layer.h"

namespace axle {

/// What counts as overload: the share of all choices that were dropped, or the share among first,
/// second, .. choices, whichever is largest.
enum class Overload { kMean, kLargest };
constexpr auto texts_of(Overload) {
  return std::to_array<EnumText<Overload>>(
      {{Overload::kMean, "mean"}, {Overload::kLargest, "largest"}});
}

/// dropped_K f32[K] -> a factor f32[]. The overload is averaged over past batches. While the
/// average is above max_overload, each training step multiplies the factor by exp(log_step); while
/// it is below min_overload, each step divides it. The factor starts at 1.
///
/// State: log_scale and average f32[], count i32[], changed in training.
/// Summaries: "overload", the average, and "scale", the factor.
class AdaptiveLossScale final
    : public LayerRole<AdaptiveLossScale, Tensor(const Tensor& dropped_K)> {
 public:
  /// Empty: the layer needs no sizes.
  struct Dims {
    AXLE_CONFIG(Dims)
  };
  static constexpr InputNames kInputs = {"dropped"};
  struct Config {
    /// The factor grows while the average overload is above this share.
    Required<Fraction> max_overload = REQUIRED;
    /// The factor shrinks while the average overload is below this share.
    Fraction min_overload = 0.001;
    /// Change of the factor's logarithm in one step.
    Positive<double> log_step = 0.01;
    /// Least weight of the newest batch in the average; younger averages use 1 / (count + 1).
    Required<Fraction> min_weight = REQUIRED;
    /// What counts as overload.
    Overload overload = Overload::kMean;
    AXLE_CONFIG(AdaptiveLossScale, max_overload, min_overload, log_step, min_weight, overload)
  };
  AdaptiveLossScale(const Config& cfg, const Dims&, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& dropped_K) override;

 private:
  Config cfg_;
};

}  // namespace axle
