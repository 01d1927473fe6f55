// Where in the user's source an op was emitted, for errors.
//
// Recording costs little: a walk over the frame pointers of the stack collects return addresses.
// They become a file and a line only for an error, from the debug information of the program.
#pragma once

#include <string>

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

}  // namespace axle
