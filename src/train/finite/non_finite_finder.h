// `axle train --find-nan`: which op made the first non-finite number of a step.
#pragma once

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
  /// Returns the report (to_text of NonFiniteOrigin). `state` holds the arrays of the state after
  /// the remembered step, which has changed nothing but the key. If the search itself fails,
  /// returns why.
  std::string find(const Arrays& state) const;

 private:
  const Program& step_;
  Runtime& runtime_;
  CompileOptions options_;
  size_t key_at_ = 0;  // index of the key among the arguments
  HostTensor key_;
  Arrays arguments_;
};

}  // namespace axle
