// Rows of the functions that read, write, sort and search at computed positions.
#include "functions/function.h"
#include "ops/ops.h"

namespace axle {
namespace {

std::vector<Function> positions() {
  return {function("dynamic_slice(x, starts, sizes)", dynamic_slice),
          function("dynamic_update_slice(x, update, starts)", dynamic_update_slice),
          function("dynamic_slice_in_dim(x, start, size, axis=0)", dynamic_slice_in_dim),
          function("dynamic_index_in_dim(x, index, axis=0)", dynamic_index_in_dim),
          function("dynamic_update_slice_in_dim(x, update, start, axis=0)",
                   dynamic_update_slice_in_dim),
          function("dynamic_update_index_in_dim(x, update, index, axis=0)",
                   dynamic_update_index_in_dim),
          function("dynamic_roll(x, shift, axis=0)", dynamic_roll),
          function("gather(operand, indices, dims, sizes, options)", gather),
          function("scatter(operand, indices, updates, dims, options)", scatter),
          function("scatter_add(operand, indices, updates, dims, options)", scatter_add),
          function("scatter_mul(operand, indices, updates, dims, options)", scatter_mul),
          function("scatter_min(operand, indices, updates, dims, options)", scatter_min),
          function("scatter_max(operand, indices, updates, dims, options)", scatter_max)};
}

std::vector<Function> along_axes() {
  return {function("take(x, indices, axis=0, options)", take),
          function("take_along_axis(x, indices, axis=-1, options)", take_along_axis),
          function("from_end(indices, size)", from_end),
          function("add_at(x, indices, updates, axis=0, options)", add_at),
          function("multiply_at(x, indices, updates, axis=0, options)", multiply_at),
          function("min_at(x, indices, updates, axis=0, options)", min_at),
          function("max_at(x, indices, updates, axis=0, options)", max_at),
          function("set_at(x, indices, updates, axis=0, options)", set_at),
          function("add_along_axis(x, indices, updates, axis=-1, options)", add_along_axis),
          function("set_along_axis(x, indices, updates, axis=-1, options)", set_along_axis),
          function("batched_take(x, indices, num_batch_dims=1)", batched_take),
          function("batched_put_rows(x, starts, updates)", batched_put_rows),
          function("one_hot(indices, n, dtype=f32)", one_hot)};
}

std::vector<Function> order() {
  return {function("sort(x, axis=-1, order=ascending)",
                   overload<Tensor(const Tensor&, int64_t, SortOrder)>(sort)),
          function("sort_key_val(operands, axis=-1, num_keys=1, order=ascending)", sort_key_val),
          function("argsort(x, axis=-1, order=ascending)", argsort),
          function("top_k(x, k)", top_k),
          function("approx_max_k(x, k, axis=-1, options)", approx_max_k),
          function("searchsorted(sorted, values, side=left)", searchsorted),
          function("digitize(x, edges, closed=left)", digitize),
          function("isin(x, set)", isin),
          function("bincount(x, length)", overload<Tensor(const Tensor&, int64_t)>(bincount)),
          function("bincount(x, weights, length)",
                   overload<Tensor(const Tensor&, const Tensor&, int64_t)>(bincount)),
          function("nonzero(x, size, fill=0)", nonzero),
          function("unique(x, size, fill=none)",
                   overload<Unique(const Tensor&, int64_t, std::optional<Scalar>)>(unique))};
}

const FunctionFamily kPositions(positions), kAlongAxes(along_axes), kOrder(order);

}  // namespace
}  // namespace axle
