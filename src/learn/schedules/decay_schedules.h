// Decays of moving means that begin small, so that the mean soon forgets its start.
//
// Source: Shazeer & Stern 2018, arXiv 1804.04235, sections 7.1 and 7.2.
#pragma once

#include <cstdint>

#include "learn/schedule.h"

namespace axle {

/// 1 - t^-exponent with t = max(step - begin_step, 1): the decay of Adafactor's second moments.
struct AdafactorDecay {
  /// Exponent of the step.
  Positive<double> exponent = 0.8;
  /// The step that counts as 0; for runs that continue with old state.
  NonNegative<int64_t> begin_step = 0;
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(AdafactorDecay, exponent, begin_step)
};

/// decay * (1 - decay^(step - 1)) / (1 - decay^step): a moving mean with this decay is unbiased at
/// every step.
struct DebiasedDecay {
  /// The decay after many steps.
  FractionBelowOne decay = 0.9;
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(DebiasedDecay, decay)
};

}  // namespace axle
