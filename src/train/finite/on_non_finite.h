// What a run does about numbers that are not finite.
#pragma once

#include "base/text/enum_text.h"

namespace axle {

/// What happens after a step whose loss or gradient is not finite. The step program itself keeps
/// the old state. A new state that is not finite ends the run in any case.
///
///   stop   the run ends. The same command does not resume it; on_non_finite=skip or --force does.
///   skip   the run continues with the next batch.
enum class OnNonFinite { kStop, kSkip };
constexpr auto texts_of(OnNonFinite) {
  return std::to_array<EnumText<OnNonFinite>>(
      {{OnNonFinite::kStop, "stop"}, {OnNonFinite::kSkip, "skip"}});
}

}  // namespace axle
