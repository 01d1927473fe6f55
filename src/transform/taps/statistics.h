// Statistics of a tensor's elements, for reports about wrong numbers.
#pragma once

#include <string>

#include "ir/host_tensor.h"
#include "ir/tensor.h"

namespace axle {

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
