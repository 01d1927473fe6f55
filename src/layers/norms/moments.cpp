#include "layers/norms/moments.h"

#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/movement/shape.h"
#include "ops/reductions/reduce.h"

namespace axle {

Tensor counted(const Tensor& segment_ids, int64_t rank) {
  Tensor mask = not_equal(segment_ids, 0);
  while (static_cast<int64_t>(mask.shape().size()) < rank) mask = expand_dims(mask, -1);
  return mask;
}

Tensor counted_mean(const Tensor& x, const std::vector<int64_t>& axes,
                    const std::optional<Tensor>& segment_ids) {
  if (!segment_ids) return mean(x, axes, true);
  const Tensor mask = counted(*segment_ids, static_cast<int64_t>(x.shape().size()));
  const Tensor total = reduce_sum(select(mask, x, 0), axes, true);
  const Tensor count = reduce_sum(select(mask, full_like(x, 1), 0), axes, true);
  return total / maximum(count, 1);
}

Moments counted_moments(const Tensor& x, const std::vector<int64_t>& axes,
                        const std::optional<Tensor>& segment_ids) {
  const Tensor mean = counted_mean(x, axes, segment_ids);
  const Tensor centred = x - mean;
  return {mean, counted_mean(centred * centred, axes, segment_ids)};
}

}  // namespace axle
