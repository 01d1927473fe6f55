// What one device does in a run of an optimised program: the work that it shares with others and
// the work that it does a second time are both in it.
#pragma once

#include "hlo/module.h"

namespace axle {

/// Rates of one device, per second.
struct DeviceRates {
  double flops = 0, memory_bytes = 0;
};

struct DeviceWork {
  /// Of matrix products and convolutions, loops counted.
  double product_flops = 0;
  /// Read from and written to the main memory, as if each instruction began and ended there.
  double memory_bytes = 0;
  /// Sums over the instructions of what is longer, computing or moving, and of each of them alone.
  double seconds = 0, compute_seconds = 0, memory_seconds = 0;
  bool at_least = false;  // some loop has no known number of iterations
};

/// Work of the entry and all that it calls; collectives are none. A rate of 0 counts no time.
DeviceWork device_work(const HloModule& module, const DeviceRates& rates);

}  // namespace axle
