// Simulates a disk that fills up, and a host that has little memory left.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace axle {

/// While alive, this process is limited to `most` of the resource (RLIMIT_AS, ...).
class ResourceLimit {
 public:
  using Resource = decltype(RLIMIT_AS);
  ResourceLimit(Resource resource, rlim_t most) : resource_(resource) {
    ::getrlimit(resource_, &before_);
    const rlimit limit{.rlim_cur = most, .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(resource_, &limit), 0);
  }
  ~ResourceLimit() { ::setrlimit(resource_, &before_); }
  ResourceLimit(const ResourceLimit&) = delete;
  ResourceLimit& operator=(const ResourceLimit&) = delete;

 private:
  Resource resource_;
  rlimit before_ = {};
};

/// While alive, limits the files of this process to `bytes`: the kernel cuts the write that crosses
/// the limit short and refuses the next.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : limit_(RLIMIT_FSIZE, bytes) { ::signal(SIGXFSZ, SIG_IGN); }
  ~FileSizeLimit() { ::signal(SIGXFSZ, SIG_DFL); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  ResourceLimit limit_;
};

/// While alive, this process may allocate `bytes` more. host_memory() reports so, and the system
/// refuses more.
class LittleMemory {
 public:
  explicit LittleMemory(int64_t bytes)
      : limit_(RLIMIT_AS, static_cast<rlim_t>(allocated() + bytes)) {}

 private:
  static int64_t allocated() {
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * ::sysconf(_SC_PAGESIZE);
  }
  ResourceLimit limit_;
};

}  // namespace axle
