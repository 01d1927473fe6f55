#include "transform/control_flow/sequential_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/rules.h"
#include "transform/control_flow/scan.h"
#include "transform/vmap.h"

namespace axle {
namespace {

int64_t leading_dim(const Values& xs) {
  if (xs.empty()) shape_error("sequential_map", "expected at least one tensor, got none", {});
  for (const Tensor& x : xs) {
    if (x.rank() == 0) shape_error("sequential_map", "expected a dim 0, got a scalar", {x});
    if (x.dim(0) != xs[0].dim(0)) {
      shape_error("sequential_map",
                  fmt::format("expected the same dim 0 of all tensors, got {} and {}", xs[0].dim(0),
                              x.dim(0)),
                  {xs[0], x});
    }
  }
  return xs[0].dim(0);
}

Values map_rows(const Values& xs, auto f) {
  Values out;
  for (const Tensor& x : xs) out.push_back(f(x));
  return out;
}

// Merges dims 0 and 1, or splits dim 0 into `outer` equal parts.
Tensor merge_rows(const Tensor& x) {
  Shape shape(x.shape().begin() + 1, x.shape().end());
  shape[0] = x.dim(0) * x.dim(1);
  return reshape(x, shape);
}
Tensor split_rows(const Tensor& x, int64_t outer) {
  Shape shape = x.shape();
  shape[0] /= outer;
  shape.insert(shape.begin(), outer);
  return reshape(x, shape);
}

}  // namespace

Values sequential_map(const TensorFunction& fn, const Values& xs,
                      const SequentialMapOptions& options) {
  const int64_t length = leading_dim(xs);
  const int64_t batch = options.batch_size;
  if (batch < 1) {
    shape_error("sequential_map", fmt::format("expected a batch_size of at least 1, got {}", batch),
                xs);
  }
  if (batch == 1) {
    return scan(
               [&](const Values&, const Values& x) {
                 return ScanResult{{}, fn(x)};
               },
               {}, xs, length)
        .ys;
  }
  const int64_t num_batches = length / batch;
  const int64_t whole = num_batches * batch;
  if (whole == 0) return vmap(fn, xs);
  const Values in_batches = map_rows(
      xs, [&](const Tensor& x) { return split_rows(slice_in_dim(x, 0, 0, whole), num_batches); });
  const Values stacked = scan(
                             [&](const Values&, const Values& x) {
                               return ScanResult{{}, vmap(fn, x)};
                             },
                             {}, in_batches, num_batches)
                             .ys;
  Values out = map_rows(stacked, merge_rows);
  if (whole == length) return out;
  const Values rest =
      vmap(fn, map_rows(xs, [&](const Tensor& x) { return slice_in_dim(x, 0, whole, length); }));
  for (size_t i = 0; i < out.size(); ++i) out[i] = concatenate({out[i], rest[i]}, 0);
  return out;
}

}  // namespace axle
