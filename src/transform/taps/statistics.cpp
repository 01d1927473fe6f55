#include "transform/taps/statistics.h"

#include <fmt/format.h>

#include <limits>

#include "ir/eval.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/rounding.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/reductions/reduce.h"
#include "transform/trace.h"

namespace axle {

std::string to_text(const Statistics& s) {
  if (s.num_finite == 0)
    return fmt::format("no finite element, {} NaN, {} Inf", s.num_nan, s.num_inf);
  return fmt::format("min {:.6g}, max {:.6g}, mean {:.6g}, mean magnitude {:.6g}, {} NaN, {} Inf",
                     s.min, s.max, s.mean, s.mean_abs, s.num_nan, s.num_inf);
}

Tensor statistics(const Tensor& x) {
  const Tensor real = is_complex(x.dtype()) ? abs(x) : x;
  const Tensor y = real.dtype() == DType::kF64 ? real : astype(real, DType::kF32);
  const std::vector<int64_t> axes = all_axes(y);
  const Tensor finite = is_finite(y), nan = is_nan(y);
  const auto count = [&](const Tensor& p) { return reduce_sum(astype(p, y.dtype()), axes); };
  const Tensor num_finite = count(finite), num_nan = count(nan);
  const Tensor num_inf = count(~(finite | nan));
  // Divided before it is summed: the sum of large numbers may overflow.
  const Tensor shares = select(finite, y, 0) / maximum(num_finite, 1);
  const double most = y.dtype() == DType::kF64 ? std::numeric_limits<double>::max()
                                               : std::numeric_limits<float>::max();
  const Tensor any = num_finite > 0;
  const Values all{select(any, reduce_min(select(finite, y, most), axes), 0),
                   select(any, reduce_max(select(finite, y, -most), axes), 0),
                   reduce_sum(shares, axes),
                   reduce_sum(abs(shares), axes),
                   num_finite,
                   num_nan,
                   num_inf};
  Values rows;
  for (const Tensor& t : all) rows.push_back(expand_dims(t, 0));
  return concatenate(rows, 0);
}

Statistics read_statistics(const HostTensor& values, int64_t row) {
  const auto at = [&](int64_t i) { return values.at(row * kNumStatistics + i); };
  const auto number = [&](int64_t i) { return static_cast<int64_t>(at(i)); };
  return {at(0), at(1), at(2), at(3), number(4), number(5), number(6)};
}

Statistics statistics_of(const HostTensor& value) {
  const auto fn = [](const Values& x) { return Values{statistics(x[0])}; };
  return read_statistics(eval(fn, {value})[0]);
}

}  // namespace axle
