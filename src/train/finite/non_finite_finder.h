// `axle train --find-nan`: which op made the first non-finite number of a step.
#pragma once

#include <functional>
#include <string>

#include "runtime/runtime.h"

namespace axle {

/// Runs a step again that was not finite, and names the op that made its first NaN or infinity.
class NonFiniteFinder {
 public:
  /// All references must outlive the finder.
  NonFiniteFinder(const Program& step, Runtime& runtime, CompileOptions options);
  /// Keeps what a step is about to lose: its PRNG key, and its batch. Call it with all arguments of
  /// the step before it runs.
  void remember(const Arrays& arguments);
  /// Notes that a search for the op begins, then what it found (to_text of NonFiniteOrigin) or why
  /// it failed. `state` holds the arrays of the state after the remembered step `step`, which has
  /// changed nothing but the key. If they are saved, a signal ends the process at once, because
  /// nothing can interrupt the compilation.
  void report(int64_t step, const Arrays& state, bool is_saved,
              const std::function<void(const std::string&)>& note) const;

 private:
  std::string find(const Arrays& state) const;
  const Program& step_;
  Runtime& runtime_;
  CompileOptions options_;
  size_t key_at_ = 0;  // index of the key among the arguments
  HostTensor key_;
  Arrays arguments_;
};

}  // namespace axle
