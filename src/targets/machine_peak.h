// The peak rate of the devices in floating-point operations per second, which MFU (model FLOP/s
// utilisation) is relative to.
//
// GPU and TPU: the maker's published figure for dense products, times the number of devices.
//
// CPU: a measurement. For about 0.1 s all cores run a loop of multiply-adds that stay in registers,
// in the best instruction set that the processor has:
//   f32, f64  AVX-512, AVX2 or SSE2
//   bf16      the matrix tiles (AMX), else the faster of AVX-512 BF16 and the loop for f32, because
//             without bf16 instructions bf16 is computed in f32
// The result is stored in user_cache_folder() and reused until the machine reboots, unless other
// work took part of the cores during the measurement. The number of virtual devices does not
// matter, because they share the cores.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"
#include "runtime/runtime.h"

namespace axle {

struct MultiplyAddLoop {
  const char* name;  // of the instruction set
  void (*run)(int64_t iterations);
  double flops_per_iteration;
};

/// Returns the loops that may be this processor's fastest for bf16, f32 or f64. For bf16 there may
/// be two, because bf16 instructions can be slower than f32 instructions.
std::vector<MultiplyAddLoop> multiply_add_loops(DType dtype);

struct Peak {
  double flops = 0;  // per second, of all devices together; 0: unknown
  /// "measured: AVX-512 on 2 cores" or "published: H100". Ends in ", beside other work, so perhaps
  /// too low" if other work took part of the cores during the measurement.
  std::string source;
};

/// Returns the peak for bf16, f32 or f64; unknown for other dtypes and for devices without a
/// published figure. Measures each dtype at most once per process.
Peak machine_peak(const Topology& topology, DType dtype);

namespace detail {
/// One timed run of the loop on one core.
struct CoreRun {
  double flops = 0;                    // total operations, not a rate
  double wall_secs = 0, cpu_secs = 0;  // elapsed time; CPU time of the thread
};
struct MeasuredPeak {
  Peak peak;
  bool is_shared = false;  // other work took part of the cores
};
/// Sums the fastest run of each core, by the time that it had the core. The result is shared if
/// such a run had less than 95 % of its core, or if a core has no run. `what` is the instruction
/// set, "AVX-512".
MeasuredPeak sum_fastest_runs(const std::vector<std::vector<CoreRun>>& by_core,
                              std::string_view what);

/// Returns the peak that the file `note` holds under `key`. Otherwise it returns the result of
/// `measure` and writes it to the file, unless the measurement was shared. If two processes measure
/// at once, the larger peak stays. A file that cannot be read or written counts as missing.
Peak cached_peak(const std::filesystem::path& note, const std::string& key,
                 const std::function<MeasuredPeak()>& measure);
}  // namespace detail

}  // namespace axle
