#include <fmt/format.h>

#include <algorithm>

#include "ir/op_rules.h"
#include "ops/movement/movement.h"
#include "ops/rules.h"
#include "transform/control_flow/control_flow.h"
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

namespace {

// x[start:limit:stride] along the leading dim of every tensor.
Values every(const Values& x, int64_t start, int64_t limit, int64_t stride) {
  Values out;
  for (const Tensor& t : x) out.push_back(slice_in_dim(t, 0, start, limit, stride));
  return out;
}

// even[0], odd[0], even[1], odd[1], ... ; `even` may have one element more.
Tensor interleaved(const Tensor& even, const Tensor& odd) {
  const int64_t pairs = odd.dim(0);
  Shape both = even.shape();
  both[0] = 2 * pairs;
  const Tensor paired = reshape(
      concatenate({expand_dims(slice_in_dim(even, 0, 0, pairs), 1), expand_dims(odd, 1)}, 1), both);
  return even.dim(0) == pairs ? paired
                              : concatenate({paired, slice_in_dim(even, 0, pairs, pairs + 1)}, 0);
}

// Along the leading dim.
Values scan_leading(const AssociativeCombine& combine, const Values& x) {
  const int64_t n = x[0].dim(0);
  if (n < 2) return x;
  const int64_t pairs = n / 2;
  const Values odd =
      scan_leading(combine, combine(every(x, 0, 2 * pairs, 2), every(x, 1, 2 * pairs, 2)));
  const int64_t num_even = n - pairs;
  Values even = every(x, 0, 1, 1);
  if (num_even > 1) {
    const Values later = combine(every(odd, 0, num_even - 1, 1), every(x, 2, n, 2));
    for (size_t i = 0; i < even.size(); ++i) even[i] = concatenate({even[i], later[i]}, 0);
  }
  Values out;
  for (size_t i = 0; i < x.size(); ++i) out.push_back(interleaved(even[i], odd[i]));
  return out;
}

// Calls `combine`, and checks that it returns a tensor of the same type for each of `earlier`.
Values combined(const AssociativeCombine& combine, const Values& earlier, const Values& later) {
  Values out = combine(earlier, later);
  if (types_of(out) != types_of(earlier)) {
    shape_error("associative_scan",
                fmt::format("expected a function that returns the types of its first half, got {}",
                            to_text(types_of(out))),
                earlier);
  }
  return out;
}

}  // namespace

Values associative_scan(const AssociativeCombine& combine, const Values& x, int64_t axis) {
  Values leading;
  for (const Tensor& t : x) {
    leading.push_back(move_axis(t, normalized_axis("associative_scan", t, axis), 0));
    if (leading.back().dim(0) != leading[0].dim(0)) {
      shape_error("associative_scan",
                  fmt::format("expected one size along axis {}, got {} and {}", axis,
                              leading[0].dim(0), leading.back().dim(0)),
                  x);
    }
  }
  if (x.empty()) return {};
  const AssociativeCombine checked = [&](const Values& earlier, const Values& later) {
    return combined(combine, earlier, later);
  };
  Values out = scan_leading(checked, leading);
  for (Tensor& t : out) t = move_axis(t, 0, axis);
  return out;
}

}  // namespace axle
