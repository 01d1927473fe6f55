// A pass that takes values out of a program, also out of the bodies of its loops and branches, as
// extra results.
//
// Taps, the search for the first non-finite number and the comparison of two programs use it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/host_tensor.h"
#include "ir/tensor.h"
#include "transform/trace.h"

namespace axle {

/// A region of a program: the ops that hold it, the outermost first, and which of their regions it
/// is in. Empty: the program itself.
struct RegionStep {
  const OpNode* op = nullptr;
  size_t region = 0;
  bool operator==(const RegionStep&) const = default;
};
using RegionPath = std::vector<RegionStep>;

/// Returns the runs of the region.
RegionTrips trips_of(const RegionStep& step);

/// Called after all ops of a region were copied, with the copies of its values. Returns the values
/// to take out, which it may compute.
using RegionObserver =
    std::function<Values(const RegionPath& path, const Region& region, const Copies& copies)>;

/// A value that was taken out.
struct Observation {
  RegionPath path;
  size_t index = 0;  // among the values that the observer returned for this region
  /// Index among the results of the program. The result has a leading dim for each op of the path
  /// that repeats its region: the iterations of a scan, in the order of its slices; the first
  /// iterations of a while loop; the devices of a shard_map.
  size_t result = 0;
  /// Index of a result that tells whether the region ran: a predicate with the first of these
  /// leading dims. Values of regions that did not run are zeros. None: it always runs.
  std::optional<size_t> ran = {};
};

struct Observed {
  std::shared_ptr<Region> region;  // results of the program, then the extra results
  std::vector<Observation> observations;
};

struct ObserveOptions {
  /// The number of iterations of a while loop whose values are kept. Later ones are not seen.
  int64_t while_iterations = 16;
};

/// Returns the program with the values that `observer` returns as extra results. Its own results
/// keep their bits. Only open regions are observed (RegionTrips): not the condition of a while
/// loop, the rules of custom_vjp and the fallback of a kernel. Bodies that run once (call, remat,
/// custom_vjp) become part of their surroundings if they are observed.
Observed observe(const Region& region, const RegionObserver& observer,
                 const ObserveOptions& options = {});

/// Runs a program and returns its results. The caller has bound the arguments.
using RunRegion =
    std::function<std::vector<HostTensor>(const std::shared_ptr<const Region>& region)>;
/// Returns the values that were taken out, one for each observation. Computes nothing else.
std::vector<HostTensor> observed_values(const Observed& observed, const RunRegion& run);

/// Returns part `i` of a tensor whose elements are equal parts of these dims, one after the other.
HostTensor part_of(const HostTensor& whole, int64_t i, Shape dims);

// Statistics of a tensor's elements, for reports about wrong numbers.

/// Counts of a tensor, and figures of its finite elements. Complex numbers count by magnitude.
struct Statistics {
  double min = 0, max = 0, mean = 0, mean_abs = 0;  // of the finite elements; 0 if there are none
  int64_t num_finite = 0, num_nan = 0, num_inf = 0;
};
/// What reports say of an operand.
struct OperandStatistics {
  std::string what;  // type, layer path and op that made it
  Statistics statistics;
};
/// Returns "min -1, max 2.5, mean 0.1, mean magnitude 0.9, 0 NaN, 3 Inf".
std::string to_text(const Statistics& s);

/// Traced: returns the statistics as a vector of kNumStatistics numbers, f64 for f64 and f32 for
/// other dtypes.
Tensor statistics(const Tensor& x);
inline constexpr int64_t kNumStatistics = 7;
/// Reads one row of results of statistics() that are stacked, [rows, kNumStatistics].
Statistics read_statistics(const HostTensor& values, int64_t row = 0);
/// Returns the statistics of a value on the host.
Statistics statistics_of(const HostTensor& value);

}  // namespace axle
