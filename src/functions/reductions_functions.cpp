// Rows of ops/reductions.
#include "functions/function.h"
#include "ops/ops.h"

namespace axle {
namespace {

using Axes = std::vector<int64_t>;

std::vector<Function> reductions() {
  return {
      function("reduce_sum(x, axes, keep_dims=false)", reduce_sum),
      function("reduce_sum_in_own_dtype(x, axes)", reduce_sum_in_own_dtype),
      function("reduce_max(x, axes, keep_dims=false)", reduce_max),
      function("reduce_min(x, axes, keep_dims=false)", reduce_min),
      function("reduce_prod(x, axes, keep_dims=false)", reduce_prod),
      function("reduce_and(x, axes, keep_dims=false)", reduce_and),
      function("reduce_or(x, axes, keep_dims=false)", reduce_or),
      function("reduce_xor(x, axes, keep_dims=false)", reduce_xor),
      function("sum(x)", sum),
      function("mean(x)", overload<Tensor(const Tensor&)>(mean)),
      function("mean(x, axes, keep_dims=false)",
               overload<Tensor(const Tensor&, const Axes&, bool)>(mean)),
      function("variance(x, axes, keep_dims=false)", variance),
      function("argmax(x, axis=-1)", argmax),
      function("argmin(x, axis=-1)", argmin),
      function("softmax_cross_entropy(logits, labels)", softmax_cross_entropy),
      function("cumsum(x, axis, reversed=false)", cumsum),
      function("cumprod(x, axis, reversed=false)", cumprod),
      function("cummax(x, axis, reversed=false)", cummax),
      function("cummin(x, axis, reversed=false)", cummin),
      function("cumlogsumexp(x, axis, reversed=false)", cumlogsumexp),
      function("standardize(x, axes=[-1], epsilon=1e-5)", standardize),
      function("l2_normalize(x, axes=[-1], epsilon=1e-12)", l2_normalize),
      function(
          "quantile(x, q, axis=-1, method=linear, keep_dims=false)",
          overload<Tensor(const Tensor&, const Tensor&, int64_t, QuantileMethod, bool)>(quantile)),
      function("quantile(x, q, axis=-1, method=linear, keep_dims=false)",
               overload<Tensor(const Tensor&, double, int64_t, QuantileMethod, bool)>(quantile)),
      function("percentile(x, q, axis=-1, method=linear, keep_dims=false)", percentile),
      function("median(x, axis=-1, keep_dims=false)", median),
      function("softmax(x, axis=-1, result_dtype=none)", softmax),
      function("log_softmax(x, axis=-1)", log_softmax),
      function("logsumexp(x, axis=-1, keep_dims=false)", logsumexp),
      function("logaddexp(a, b)", logaddexp),
      function("softplus(x)", softplus)};
}

const FunctionFamily kReductions(reductions);

}  // namespace
}  // namespace axle
