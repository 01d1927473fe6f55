// What a program for virtual devices cannot tell about real ones.
#pragma once

#include <string>
#include <vector>

#include "ir/tensor.h"
#include "targets/target.h"

namespace axle {

/// Returns sentences about the virtual devices of a CPU target: what memory they share, and what
/// the step offloads to the host without effect. Empty for other targets. `host_memory_bytes` is
/// the memory of this machine; 0: not known.
std::vector<std::string> virtual_device_findings(const Region& step, const Target& target,
                                                 int64_t host_memory_bytes);

}  // namespace axle
