// The exponential moving average of the parameters, for evaluation.
//
// Source: Polyak & Juditsky 1992, "Acceleration of stochastic approximation by averaging".
#pragma once

#include <cstdint>

#include "base/tree.h"
#include "learn/schedule.h"

namespace axle {

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

}  // namespace axle
