// Loops on the threads of XLA's pool.
#pragma once

#include <functional>

#include "pjrt/abi/ffi.h"

namespace axle {

/// Calls work(first, last) for ranges that cover [0, count), on this thread and on free ones of the
/// pool, and returns when all are done. Every range but the last has `grain` numbers or more.
/// Throws what the first failed range threw.
///
/// It never waits for a thread to become free, so that calls from all threads of the pool at once
/// can't wait for each other.
void pool_loop(const ffi::Api& api, ffi::Context* context, int64_t count, int64_t grain,
               const std::function<void(int64_t first, int64_t last)>& work);

}  // namespace axle
