// The values of debug_print (ops/annotate.h) in a running program.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/runtime.h"
#include "transform/taps/collect_taps.h"

namespace axle {

/// Prints what a program delivers for debug_print: its last outputs.
class DebugPrints {
 public:
  DebugPrints() = default;
  /// `prints` describes the outputs of a program with `num_outputs` outputs.
  DebugPrints(std::vector<CollectedTap> prints, size_t num_outputs);
  /// The number of outputs that hold the values.
  size_t size() const { return size_; }
  /// Waits for the values, and returns the lines in the order of the program. `values` are the last
  /// size() outputs.
  std::vector<std::string> lines(std::span<const ArrayPtr> values) const;

 private:
  std::vector<CollectedTap> prints_;
  size_t size_ = 0, first_ = 0;
};

}  // namespace axle
