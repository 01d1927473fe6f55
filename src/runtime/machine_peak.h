// The most floating-point operations per second that the devices can do: what MFU (model FLOP/s
// utilisation) is measured against.
//
// CPU: measured. All cores run a loop of multiply-adds that stay in registers, in the best
// instruction set that the processor has, for about 0.1 s: AVX-512, AVX2 or SSE2; for bf16 the
// matrix tiles (AMX), else the faster of AVX-512 BF16 and f32, in which bf16 is computed elsewhere.
// What was measured is remembered in user_cache_folder() until the machine starts anew. Virtual
// devices share the cores, so their number does not count. GPU and TPU: the maker's
// published figure for dense products, times the number of devices.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "runtime/runtime.h"

namespace axle {

struct Peak {
  double flops = 0;    // per second, of all devices together; 0: not known
  std::string source;  // "measured: AVX-512 on 2 cores", "published: H100"
};

/// For bf16, f32 and f64; unknown for other dtypes and devices. Measures a dtype at most once.
Peak machine_peak(const Topology& topology, DType dtype);

namespace detail {
/// The peak that stands in the file `note` under `key`, else what `measure` gives, which is written
/// there. A file that can't be read or written counts as none.
Peak remembered_peak(const std::filesystem::path& note, const std::string& key,
                     const std::function<Peak()>& measure);
}  // namespace detail

/// machine_peak without its source.
inline double peak_flops(const Topology& topology, DType dtype) {
  return machine_peak(topology, dtype).flops;
}

}  // namespace axle
