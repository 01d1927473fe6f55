// The memory that this process may still take.
#pragma once

#include <cstdint>
#include <filesystem>

namespace axle {

struct HostMemory {
  /// Of the machine, or what a container or `ulimit -v` allows of it; 0 where it is not known.
  int64_t total_bytes = 0;
  /// What can be taken before the system kills a process: free memory, caches that it gives up,
  /// swap; not more than what a container and `ulimit -v` leave. 0 where it is not known.
  int64_t available_bytes = 0;
};

/// From the tables of the system, which tests put elsewhere.
HostMemory host_memory(const std::filesystem::path& proc = "/proc",
                       const std::filesystem::path& cgroups = "/sys/fs/cgroup");

}  // namespace axle
