// Measures the memory that a test has taken.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace axle {

/// Returns the peak resident memory of this process so far.
inline int64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  }
  return -1;
}

}  // namespace axle
