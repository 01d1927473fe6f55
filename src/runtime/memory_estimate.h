// An estimate of a program's memory on one device from its graph alone, without a compiler: to
// compare configs, to refuse what cannot fit before it is compiled, and to name large values where
// a compiler names none.
#pragma once

#include <vector>

#include "hlo/memory.h"
#include "lower/trace_program.h"

namespace axle {

struct MemoryEstimate {
  /// Bytes of one device: the arguments, and the values at the peak.
  double argument_bytes = 0, temporary_bytes = 0;
  /// The largest values at the peak, sorted by bytes.
  std::vector<TemporaryBuffer> largest = {};
  double total_bytes() const { return argument_bytes + temporary_bytes; }
};

/// Follows the graph in its order. Counts what products, ops with a body and other ops that are not
/// fused leave in memory, and what the backward pass reads of the forward pass, from where it is
/// made to its last use, also by way of views. A value is divided over the devices as its
/// constraint says, or as the operand of its size is that it is made of. What a partitioner gathers
/// and what a compiler stores besides is not known here: on a CPU, programs need at least this
/// much, and up to several times as much where models are tiny.
MemoryEstimate estimate_memory(const Program& program);

}  // namespace axle
