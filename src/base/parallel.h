// Loops over the cores of the host.
#pragma once

#include <cstdint>
#include <functional>

namespace axle {

/// Calls f(begin, end) for pieces that cover [0, n), on all cores of the host, and returns when all
/// of them are done. No piece but the last has fewer than `min_piece` items, so that small loops
/// stay on the calling thread. Loops inside `f`, and those of a second thread at the same time, run
/// on the thread that calls them. The first exception of `f` is thrown again.
///
/// A result must not depend on how the items are divided into pieces.
void parallel_for(int64_t n, int64_t min_piece, const std::function<void(int64_t, int64_t)>& f);

}  // namespace axle
