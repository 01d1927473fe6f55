// Host kernels (ops/kernels/kernel.h) for programs of a plugin that runs on the host's cores.
#pragma once

#include <string>

#include "pjrt/abi/ffi.h"
#include "pjrt/plugin/plugin.h"

namespace axle {

/// Makes the plugin's programs call the host kernels of this process; asks the plugin once. Returns
/// "", or the reason why the plugin can't.
std::string enable_host_kernels(const Plugin& plugin);

/// The handler of kHostKernelTarget. It calls the host kernel that the attributes name.
ffi::Error* run_host_kernel(ffi::CallFrame* frame);

}  // namespace axle
