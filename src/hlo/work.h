// The work of one device in a run of an optimised program. It includes work that other devices do
// as well and work that is done again (remat).
#pragma once

#include "hlo/module.h"

namespace axle {

/// Rates of one device, per second.
struct DeviceRates {
  double flops = 0, memory_bytes = 0;
};

struct DeviceWork {
  /// FLOPs of matrix products and convolutions; a loop's body counts in each iteration.
  double product_flops = 0;
  /// Bytes read from and written to the main memory, as if each instruction began and ended there.
  double memory_bytes = 0;
  /// Sums over the instructions. `seconds` adds the longer of an instruction's compute time and
  /// memory time. The other two add each time alone.
  double seconds = 0, compute_seconds = 0, memory_seconds = 0;
  /// True if the trip count of some loop is unknown, so that the sums may be low.
  bool is_lower_bound = false;
};

/// Returns the work of the entry computation and all that it calls, without collectives. A rate of
/// 0 adds no time.
DeviceWork device_work(const HloModule& module, const DeviceRates& rates);

}  // namespace axle
