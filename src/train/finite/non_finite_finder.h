// `axle train --find-nan`: which op made the first non-finite number of a step.
#pragma once

#include <functional>
#include <string>

#include "runtime/runtime.h"

namespace axle {

/// Runs a step again that was not finite, and names the op that made its first NaN or infinity.
class NonFiniteFinder {
 public:
  /// All references must outlive the finder. The step must donate nothing: its arguments are read
  /// again.
  NonFiniteFinder(const Program& step, Runtime& runtime, CompileOptions options);
  /// Keeps the arguments of a step that is about to run.
  void remember(const Arrays& arguments) { arguments_ = arguments; }
  /// Notes that a search for the op begins, then what it found (to_text of NonFiniteOrigin) or why
  /// it failed. `step` is the number of the remembered one. If the state is saved, a signal ends
  /// the process at once, because nothing can interrupt the compilation.
  void report(int64_t step, bool is_saved,
              const std::function<void(const std::string&)>& note) const;

 private:
  std::string find() const;
  const Program& step_;
  Runtime& runtime_;
  CompileOptions options_;
  Arrays arguments_;
};

}  // namespace axle
