// Which values an optimised program holds at once: what a device's temporaries are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hlo/module.h"

namespace axle {

/// Values that are alive when the program holds the most, of one origin and shape.
struct Temporary {
  std::string layer;  // "model/decoder/layers/layer/attention/body"; empty: made by the compiler
  std::string op;     // "dot_general", or the compiler's own opcode
  bool backward = false;
  std::string shape;  // "bf16[4,4096,4096]"
  int64_t count = 0;
  int64_t bytes = 0;  // of one device, all together, without padding
};

struct PeakMemory {
  /// Of all temporaries at that moment.
  int64_t bytes = 0;
  /// Those with the most bytes first.
  std::vector<Temporary> temporaries = {};
};

/// Follows the program in its own order. What takes over the memory of its operand (views, updates
/// in place, values that a loop carries) counts once; arguments, results of the program, constants
/// and values outside the device's main memory do not count. Gaps and padding are not known here,
/// so that a compiler's own figure is larger, or smaller where it lets a result take over an
/// operand.
PeakMemory peak_memory(const HloModule& module);

}  // namespace axle
