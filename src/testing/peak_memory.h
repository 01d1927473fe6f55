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

/// Makes the memory that this process holds now its peak.
inline void reset_peak_resident_bytes() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace axle
