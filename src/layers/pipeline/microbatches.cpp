#include "layers/pipeline/microbatches.h"

#include "ops/movement/shape.h"

namespace axle {

Tensor split_rows(const Tensor& x, int64_t n, int64_t rows) {
  return move_axis(unflatten(x, rows, {x.dim(rows) / n, n}), rows + 1, 0);
}

Tensor merge_rows(const Tensor& parts, int64_t rows) {
  return flatten(move_axis(parts, 0, rows + 1), rows, rows + 1);
}

}  // namespace axle
