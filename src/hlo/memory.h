// The temporaries of an optimised program: which values a device holds at its memory peak.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hlo/module.h"

namespace axle {

/// Temporaries of one origin and shape that are alive at the memory peak.
struct TemporaryBuffer {
  std::string layer =
      {};               // "model/decoder/layers/layer/attention/body"; empty: made by the compiler
  std::string op = {};  // "dot_general", or the compiler's own opcode
  bool backward = false;
  std::string shape = {};  // "bf16[4,4096,4096]"
  int64_t count = 0;
  int64_t bytes = 0;  // of all these values on one device, without padding
};

struct PeakMemory {
  /// Bytes of all temporaries at the peak.
  int64_t bytes = 0;
  /// Sorted by bytes, the largest first.
  std::vector<TemporaryBuffer> temporaries = {};
};

/// Finds the memory peak by following the program in the order of its schedule. A value that reuses
/// the memory of an operand (a view, an update in place, a loop carry) counts once. Arguments,
/// results of the program, constants and values outside the device's main memory do not count.
/// A compiler's own figure may be larger, because gaps and padding are not known here, or smaller,
/// because the compiler may let further results reuse an operand's memory.
PeakMemory peak_memory(const HloModule& module);

}  // namespace axle
