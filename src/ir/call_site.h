// Where in the user's source an op was emitted, for errors.
//
// Recording costs little: a walk over the frame pointers of the stack collects return addresses.
// They become a file and a line only for an error, from the debug information of the program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace axle {

/// The calls that led to an op. Equal calls are one object, which is never freed.
struct CallSite;

/// Returns the calls of the innermost CallSiteScope, or else the calls on this thread's stack.
const CallSite* current_call_site();

/// Returns calls of no source: for ops that are written as data. No line of the program that reads
/// them is named.
const CallSite* no_calls();

/// Returns the innermost call in the user's code, "src/layers/dense/linear.cpp:41": the first one
/// outside of the folders that implement ops and transforms. Empty if there is none, or no debug
/// information about it. The file is relative to the root of Axle's sources or to the working
/// folder if it lies there.
std::string source_line(const CallSite* calls);

/// While alive, current_call_site() returns `calls`; null: the calls on the stack. Transforms emit
/// the ops that they derive from another op as if they came from the same line.
class CallSiteScope {
 public:
  explicit CallSiteScope(const CallSite* calls);
  ~CallSiteScope();
  CallSiteScope(const CallSiteScope&) = delete;
  CallSiteScope& operator=(const CallSiteScope&) = delete;

 private:
  const CallSite* saved_;
};

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
