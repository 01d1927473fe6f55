// The return addresses of a call site, and the lines of the source that they stand for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace axle {

/// Return addresses, innermost first. Deep enough to reach the user's code from any op.
struct CallSite {
  static constexpr size_t kMaxDepth = 32;
  std::array<uintptr_t, kMaxDepth> addresses = {};
  uint32_t depth = 0;
  uint64_t hash = 0;
};

struct SourceLine {
  std::string file;  // what the debug information says, without "." and ".." inside
  int line = 0;
};
/// Returns the call at a return address and those that it was inlined into, innermost first. Empty
/// without debug information, or in a program that was built without libbacktrace.
std::vector<SourceLine> source_lines(uintptr_t return_address);

/// Returns the root of Axle's sources as the debug information writes it, with a slash at its end.
/// Empty if it is not known.
const std::string& source_root();
/// Returns the path of a source as errors show it: without the root of Axle's sources, the working
/// folder or the way up from the folder of the build.
std::string shown_path(const std::string& path);

}  // namespace axle
