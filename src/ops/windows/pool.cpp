#include "ops/windows/pool.h"

#include <fmt/format.h>

#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/broadcast.h"
#include "ops/rules.h"
#include "ops/windows/reduce_window.h"

namespace axle {
namespace {

// Returns the window over all dims: of size 1 along the batch and the features.
Window whole_window(std::string_view op, const Tensor& x, const PoolOptions& options) {
  const size_t num_spatial = options.window.size();
  if (x.shape().size() != num_spatial + 2) {
    shape_error(op,
                fmt::format("expected an operand of {} dims for a window of {}, got {}",
                            num_spatial + 2, to_text(options.window), x.rank()),
                {x});
  }
  const auto extended = [](const Shape& list) {
    Shape out = list;
    if (out.empty()) return out;
    out.insert(out.begin(), 1);
    out.push_back(1);
    return out;
  };
  Window out{.sizes = extended(options.window), .strides = extended(options.strides)};
  if (const auto& dims = options.padding.dims()) {
    std::vector<DimPadding> padding = *dims;
    padding.insert(padding.begin(), DimPadding{});
    padding.emplace_back();
    out.padding = padding;
  } else {
    out.padding = options.padding.rule();
  }
  return out;
}

}  // namespace

Tensor max_pool(const Tensor& x, const PoolOptions& options) {
  return reduce_window_max(x, whole_window("max_pool", x, options));
}

Tensor min_pool(const Tensor& x, const PoolOptions& options) {
  return reduce_window_min(x, whole_window("min_pool", x, options));
}

Tensor avg_pool(const Tensor& x, const PoolOptions& options, PoolCount count) {
  if (!is_float(x.dtype()))
    shape_error("avg_pool", fmt::format("expected floats, got {}", name_of(x.dtype())), {x});
  if (const DType wide = wide_dtype(x.dtype()); wide != x.dtype())
    return astype(avg_pool(astype(x, wide), options, count), x.dtype());
  const Window window = whole_window("avg_pool", x, options);
  const Tensor total = reduce_window_sum(x, window);
  if (count == PoolCount::kWindow) return total / static_cast<double>(num_elements(options.window));
  // The number of elements is the same for all examples and features.
  Shape one = x.shape();
  one.front() = one.back() = 1;
  const Tensor counts = reduce_window_sum(ones(one, x.dtype()), window);
  return total / broadcast_to(counts, total.shape());
}

}  // namespace axle
