#include "transform/vmap.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/lists.h"
#include "ops/create.h"
#include "ops/movement/movement.h"
#include "ops/rules.h"
#include "transform/batch_region.h"

namespace axle {
namespace {

using Axes = std::vector<std::optional<int64_t>>;

// Returns the axes with one entry for each value; an empty list stands for dim 0 of all.
Axes complete(const Axes& axes, size_t count, std::string_view of, const Values& operands) {
  if (axes.empty()) return Axes(count, 0);
  if (axes.size() != count) {
    shape_error("vmap", fmt::format("expected {} for {} values, got {}", of, count, axes.size()),
                operands);
  }
  return axes;
}

int64_t batch_size(const Values& arguments, const Axes& in_axes, std::optional<int64_t> size) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!in_axes[i]) continue;
    const int64_t own = arguments[i].dim(normalized_axis("vmap", arguments[i], *in_axes[i]));
    if (size && *size != own) {
      shape_error("vmap", fmt::format("expected batches of one size, got {} and {}", *size, own),
                  arguments);
    }
    size = own;
  }
  if (!size) shape_error("vmap", "expected axis_size where no argument has a batch dim", {});
  check_at_least("vmap", "an axis_size", *size, 0, arguments);
  return *size;
}

}  // namespace

Values vmap(const TensorFunction& fn, const Values& arguments, const VmapOptions& options) {
  const Axes in_axes = complete(options.in_axes, arguments.size(), "in_axes", arguments);
  const BatchAxis axis{batch_size(arguments, in_axes, options.axis_size), options.mesh_axes};
  std::vector<Batched> batched;
  std::vector<Type> types;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Tensor& x = arguments[i];
    batched.push_back({in_axes[i] ? move_axis(x, *in_axes[i], 0) : x, in_axes[i].has_value()});
    types.push_back(batched.back().value.type());
    if (in_axes[i]) types.back().dims.erase(types.back().dims.begin());
  }
  const ClosedRegion closed = trace_closed(fn, types);
  const std::vector<Batched> captured =
      with_marks(closed.captures, std::vector<bool>(closed.captures.size(), false));
  const std::vector<Batched> results =
      batch_region(*closed.region, concatenate<Batched>({captured, batched}), axis);
  const Axes out_axes = complete(options.out_axes, results.size(), "out_axes", arguments);
  Values out;
  for (size_t i = 0; i < results.size(); ++i) {
    if (out_axes[i]) {
      out.push_back(move_axis(with_batch_dims({&results[i], 1}, axis)[0], 0, *out_axes[i]));
      continue;
    }
    if (results[i].is_batched) {
      shape_error("vmap",
                  fmt::format("expected output {} to be the same for all examples, got one that "
                              "differs; give it an out_axis",
                              i),
                  {results[i].value});
    }
    out.push_back(results[i].value);
  }
  return out;
}

}  // namespace axle
