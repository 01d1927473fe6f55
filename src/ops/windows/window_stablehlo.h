// StableHLO of ops with windows.
#pragma once

#include <functional>
#include <string>

#include "ir/hlo_builder.h"
#include "ops/windows/window.h"

namespace axle {

/// Returns the attributes of a window over all dims, for reduce_window and select_and_scatter.
/// Dilations that are all 1 are left out: select_and_scatter has none.
std::string mlir_window(const SlidingWindow& window);
/// Returns the attribute `padding` of a window: a pair for each dim.
std::string mlir_padding(const SlidingWindow& window);
/// Reduces `counts` windows of all operands together by `combine`, starting from the scalars
/// `init`. `combine` takes the elements so far, then the next ones.
HloValues hlo_reduce_window(HloBuilder& b, const HloValues& x, const HloValues& init,
                            const SlidingWindow& window, const Shape& counts,
                            const std::function<HloValues(const HloValues&)>& combine);

}  // namespace axle
