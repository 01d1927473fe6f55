// Simulates a host that has little memory left.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace axle {

/// While alive, this process may allocate `bytes` more. host_memory() reports so, and the system
/// refuses more.
class LittleMemory {
 public:
  explicit LittleMemory(int64_t bytes) {
    ::getrlimit(RLIMIT_AS, &before_);
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto most = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + bytes);
    const rlimit limit{.rlim_cur = most, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ~LittleMemory() { ::setrlimit(RLIMIT_AS, &before_); }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;

 private:
  rlimit before_ = {};
};

}  // namespace axle
