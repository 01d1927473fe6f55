// Host kernels (ops/kernels/kernel.h) for programs of a plugin that runs on the host's cores,
// and loops on the threads of its pool.
#pragma once

#include <functional>
#include <string>

#include "pjrt/abi/ffi.h"
#include "pjrt/plugin/plugin.h"

namespace axle {

/// Makes the plugin's programs call the host kernels of this process; asks the plugin once. Returns
/// "", or the reason why the plugin can't.
std::string enable_host_kernels(const Plugin& plugin);

/// The handler of kHostKernelTarget. It calls the host kernel that the attributes name.
ffi::Error* run_host_kernel(ffi::CallFrame* frame);

/// Calls work(first, last) for ranges that cover [0, count), on this thread and on free ones of the
/// pool, and returns when all are done. Every range but the last has `grain` numbers or more.
/// Throws what the first failed range threw.
///
/// It never waits for a thread to become free, so that calls from all threads of the pool at once
/// can't wait for each other.
void pool_loop(const ffi::Api& api, ffi::Context* context, int64_t count, int64_t grain,
               const std::function<void(int64_t first, int64_t last)>& work);

}  // namespace axle
