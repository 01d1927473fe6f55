// Schedules that fall with a power of the step.
//
// Source: Vaswani et al. 2017, arXiv 1706.03762, section 5.3; Raffel et al. 2020, arXiv 1910.10683,
// section 3.1.2 (constant warm-up).
#pragma once

#include <cstdint>

#include "base/text/enum_text.h"
#include "learn/schedule.h"

namespace axle {

/// How a schedule begins.
enum class WarmupShape {
  kLinear,    // rises from 0
  kConstant,  // has its peak from the start
};
constexpr auto texts_of(WarmupShape) {
  return std::to_array<EnumText<WarmupShape>>(
      {{WarmupShape::kLinear, "linear"}, {WarmupShape::kConstant, "constant"}});
}

/// scale * t^-exponent for t = step - begin_step from warmup_steps on. Before that the value rises
/// linearly to scale * warmup_steps^-exponent, its peak, or has it already.
struct InverseSqrt {
  /// The value at t = 1 without warm-up. The peak is scale * warmup_steps^-exponent.
  Positive<double> scale = 1;
  /// Number of steps of the warm-up.
  Positive<int64_t> warmup_steps = 10000;
  /// How the schedule begins.
  WarmupShape warmup = WarmupShape::kLinear;
  /// Exponent of the fall.
  Positive<double> exponent = 0.5;
  /// The step that counts as t = 0: any number, also a negative one.
  int64_t begin_step = 0;
  Tensor operator()(const Step& step) const;
  AXLE_CONFIG(InverseSqrt, scale, warmup_steps, warmup, exponent, begin_step)
};

}  // namespace axle
