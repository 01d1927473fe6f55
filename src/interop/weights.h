// Which parameters of a run are meant.
#pragma once

#include "base/text/enum_text.h"

namespace axle {

/// Which parameters of a run to load: the trained ones, or their average (learner.ema).
enum class Weights { kTrained, kAverage };
constexpr auto texts_of(Weights) {
  return std::to_array<EnumText<Weights>>(
      {{Weights::kTrained, "trained"}, {Weights::kAverage, "average"}});
}

}  // namespace axle
