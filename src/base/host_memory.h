// The memory that this process may still allocate.
#pragma once

#include <cstdint>
#include <filesystem>

namespace axle {

struct HostMemory {
  /// Memory of the machine, or the limit set by a container or `ulimit -v` if lower; 0 if unknown.
  int64_t total_bytes = 0;
  /// Memory that can be allocated before the system kills a process: free memory, caches that the
  /// kernel can drop, and swap, but at most what a container and `ulimit -v` leave. 0 if unknown.
  int64_t available_bytes = 0;
};

/// Returns the resident memory of this process, in bytes; 0 if the system does not report it.
int64_t resident_bytes();

/// Reads the kernel's tables. Tests pass other folders.
HostMemory host_memory(const std::filesystem::path& proc = "/proc",
                       const std::filesystem::path& cgroups = "/sys/fs/cgroup");

}  // namespace axle
