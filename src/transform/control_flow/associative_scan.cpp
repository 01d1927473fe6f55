#include "transform/control_flow/associative_scan.h"

#include <fmt/format.h>

#include "ir/op_rules.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/rules.h"

namespace axle {
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
