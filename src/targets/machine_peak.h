// The most floating-point operations per second that the devices can do: what MFU (model FLOP/s
// utilisation) is measured against.
//
// CPU: measured. All cores run a loop of multiply-adds that stay in registers, in the best
// instruction set that the processor has, for about 0.1 s: AVX-512, AVX2 or SSE2; for bf16 the
// matrix tiles (AMX), else the faster of AVX-512 BF16 and f32, in which bf16 is computed elsewhere.
// What was measured is remembered in user_cache_folder() until the machine starts anew, unless
// other work had a part of the cores meanwhile. Virtual devices share the cores, so their number
// does not count. GPU and TPU: the maker's published figure for dense products, times the number of
// devices.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/runtime.h"

namespace axle {

struct Peak {
  double flops = 0;  // per second, of all devices together; 0: not known
  /// "measured: AVX-512 on 2 cores", "published: H100". It ends in ", shared with other work, so
  /// too low" where that was noticed.
  std::string source;
};

/// For bf16, f32 and f64; unknown for other dtypes and devices. Measures a dtype at most once.
Peak machine_peak(const Topology& topology, DType dtype);

namespace detail {
/// What one core did in a while.
struct CoreRun {
  double flops = 0;                    // in all
  double wall_secs = 0, cpu_secs = 0;  // of the clock, of the core's work for this thread
};
struct Measured {
  Peak peak;
  bool is_shared = false;  // other work had a part of the cores
};
/// The sum over the cores, of each the fastest of its runs. Shared where that run had less than 95
/// % of its core, or where a core has none. `what`: "AVX-512".
Measured sum_of_best(const std::vector<std::vector<CoreRun>>& by_core, std::string_view what);

/// The peak that stands in the file `note` under `key`, else what `measure` gives, which is written
/// there unless it was shared. Where two processes measure at once, the larger stays. A file that
/// can't be read or written counts as none.
Peak remembered_peak(const std::filesystem::path& note, const std::string& key,
                     const std::function<Measured()>& measure);
}  // namespace detail

/// machine_peak without its source.
inline double peak_flops(const Topology& topology, DType dtype) {
  return machine_peak(topology, dtype).flops;
}

}  // namespace axle
