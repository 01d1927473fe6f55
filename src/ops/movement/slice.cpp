#include <fmt/format.h>

#include "base/lists.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/movement/window_rules.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"

namespace axle {
namespace {

struct SliceAttributes : Attributes {
  SliceAttributes(Shape s, Shape l, Shape t)
      : starts(std::move(s)), limits(std::move(l)), strides(std::move(t)) {}
  Shape starts, limits, strides;
  std::string text() const override {
    return fmt::format("starts = {}, limits = {}, strides = {}", to_text(starts), to_text(limits),
                       to_text(strides));
  }
};

std::vector<Type> infer_slice(const OpNode& op) {
  const Type& x = op.inputs[0].type();
  const auto& a = op.attrs<SliceAttributes>();
  const size_t rank = x.dims.size();
  bool fits = a.starts.size() == rank && a.limits.size() == rank && a.strides.size() == rank;
  Type y{x.dtype, {}};
  for (size_t d = 0; fits && d < rank; ++d) {
    fits = 0 <= a.starts[d] && a.starts[d] <= a.limits[d] && a.limits[d] <= x.dims[d] &&
           a.strides[d] > 0;
    const int64_t n = fits ? a.limits[d] - a.starts[d] : 0;
    if (fits) y.dims.push_back(n / a.strides[d] + (n % a.strides[d] != 0));
  }
  if (!fits) {
    shape_error(op, fmt::format("expected 0 <= start <= limit <= size and stride >= 1 for each dim "
                                "of {}, got {}",
                                to_text(x), a.text()));
  }
  return {y};
}

Values slice_vjp(X x, Y y, Ct g) {
  const auto& a = x.attrs<SliceAttributes>();
  Shape high, interior;
  for (size_t d = 0; d < a.starts.size(); ++d) {
    const int64_t n = y[0].shape()[d];
    const int64_t end = n == 0 ? a.starts[d] : a.starts[d] + (n - 1) * a.strides[d] + 1;
    high.push_back(x[0].shape()[d] - end);
    interior.push_back(a.strides[d] - 1);
  }
  return {pad(g[0], 0, a.starts, high, interior)};
}

void eval_slice(const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
                std::span<HostTensor> y) {
  const auto& a = op.attrs<SliceAttributes>();
  StridedView from = dense_view(x[0]->shape());
  for (size_t d = 0; d < a.starts.size(); ++d) {
    from.offset += a.starts[d] * from.strides[d];
    from.strides[d] *= a.strides[d];
  }
  copy_strided(y[0].shape(), *x[0], from, y[0], dense_view(y[0].shape()));
}

const OpRules slice_rules(
    {.name = "slice",
     .infer = infer_slice,
     .batch =
         [](BatchX x) {
           const auto& a = x.attrs<SliceAttributes>();
           return emit_batched(
               x, SliceAttributes(prepended(0, a.starts), prepended(x.axis().size, a.limits),
                                  prepended(1, a.strides)));
         },
     .vjp = slice_vjp,
     .eval = eval_slice,
     .hlo =
         [](const OpNode& op, HloBuilder& b, const HloValues& x) {
           const auto& a = op.attrs<SliceAttributes>();
           return HloValues{b.one(
               "stablehlo.slice", x, op.outputs[0],
               fmt::format("start_indices = {}, limit_indices = {}, strides = {}",
                           mlir_array(a.starts), mlir_array(a.limits), mlir_array(a.strides)))};
         },
     .cost = {0, read_part_bytes},
     .traits = {.cheap = true, .moves_elements = true}});

struct PadAttributes : Attributes {
  PadAttributes(Shape l, Shape h, Shape i)
      : low(std::move(l)), high(std::move(h)), interior(std::move(i)) {}
  Shape low, high, interior;
  std::string text() const override {
    return fmt::format("low = {}, high = {}, interior = {}", to_text(low), to_text(high),
                       to_text(interior));
  }
};

// True if no sum of such numbers overflows.
bool is_few(int64_t n) { return n >= -kMaxElements && n <= kMaxElements; }

std::vector<Type> infer_pad(const OpNode& op) {
  const Type& x = op.inputs[0].type();
  const auto& a = op.attrs<PadAttributes>();
  if (op.inputs[1].type() != Type{x.dtype, {}})
    shape_error(op, fmt::format("expected a scalar {} to pad with, got {}", name_of(x.dtype),
                                to_text(op.inputs[1].type())));
  const size_t rank = x.dims.size();
  bool fits = a.low.size() == rank && a.high.size() == rank && a.interior.size() == rank;
  Type y{x.dtype, {}};
  for (size_t d = 0; fits && d < rank; ++d) {
    fits = is_few(a.low[d]) && is_few(a.high[d]) && is_few(a.interior[d]) && a.interior[d] >= 0;
    if (!fits) break;
    const int64_t holes = saturating_product(std::max<int64_t>(x.dims[d] - 1, 0), a.interior[d]);
    const int64_t inside = std::min(saturating_sum(x.dims[d], holes), 4 * kMaxElements);
    y.dims.push_back(inside + a.low[d] + a.high[d]);
    fits = y.dims[d] >= 0 && y.dims[d] <= kMaxElements;
  }
  if (!fits) {
    shape_error(op,
                fmt::format("expected padding for each dim of {} that leaves a size from 0 to {}, "
                            "and interior >= 0, got {}",
                            to_text(x), kMaxElements, a.text()));
  }
  return {y};
}

// Undoes the padding of the cotangent: cuts the edges off and takes every (interior + 1)th element.
Values pad_vjp(X x, Y, Ct g) {
  const auto& a = x.attrs<PadAttributes>();
  Shape low, high, strides;
  for (size_t d = 0; d < a.low.size(); ++d) {
    low.push_back(-a.low[d]);
    high.push_back(-a.high[d]);
    strides.push_back(a.interior[d] + 1);
  }
  const Tensor whole = pad(g[0], 0, low, high);
  const Tensor gx = slice(whole, Shape(low.size(), 0), whole.shape(), strides);
  return {gx, sum(g[0]) - sum(gx)};
}

void eval_pad(const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
              std::span<HostTensor> y) {
  const auto& a = op.attrs<PadAttributes>();
  dispatch_size(y[0].dtype(), [&]<class T>(std::type_identity<T>) {
    std::ranges::fill(y[0].elements<T>(), x[1]->elements<T>()[0]);
  });
  Shape shape;
  StridedView from = dense_view(x[0]->shape()), to = dense_view(y[0].shape());
  for (size_t d = 0; d < a.low.size(); ++d) {
    // Element i lands at low + i * step. The elements first .. end-1 land inside.
    const int64_t step = a.interior[d] + 1, n = x[0]->shape()[d], size = y[0].shape()[d];
    const int64_t first = a.low[d] >= 0 ? 0 : (-a.low[d] + step - 1) / step;
    const int64_t end = size <= a.low[d] ? 0 : std::min(n, (size - 1 - a.low[d]) / step + 1);
    shape.push_back(std::max<int64_t>(end - first, 0));
    from.offset += first * from.strides[d];
    to.offset += (a.low[d] + first * step) * to.strides[d];
    to.strides[d] *= step;
  }
  copy_strided(shape, *x[0], from, y[0], to);
}

// A value for each element of the batch is put where a padded mask says so.
std::vector<Batched> batch_pad(BatchX x) {
  const auto& a = x.attrs<PadAttributes>();
  const PadAttributes padding(prepended(0, a.low), prepended(0, a.high), prepended(0, a.interior));
  const auto padded = [&](const Tensor& t, const Tensor& value) {
    return emit(*x.op().rules, {t, value}, padding);
  };
  const Tensor operand = with_batch_dim(x, 0);
  if (!x.is_batched(1)) return all_batched({padded(operand, x[1])});
  const Tensor is_inside =
      padded(full(operand.shape(), true, DType::kPred), scalar(false, DType::kPred));
  const Tensor value = broadcast_in_dim(x[1], is_inside.shape(), {0});
  return all_batched({select(is_inside, padded(operand, scalar(0, operand.dtype())), value)});
}

const OpRules pad_rules(
    {.name = "pad",
     .infer = infer_pad,
     .batch = batch_pad,
     .vjp = pad_vjp,
     .eval = eval_pad,
     .hlo =
         [](const OpNode& op, HloBuilder& b, const HloValues& x) {
           const auto& a = op.attrs<PadAttributes>();
           return HloValues{b.one(
               "stablehlo.pad", x, op.outputs[0],
               fmt::format("edge_padding_low = {}, edge_padding_high = {}, interior_padding = {}",
                           mlir_array(a.low), mlir_array(a.high), mlir_array(a.interior)))};
         },
     .cost = kNoFlops,
     .traits = {.cheap = true}});

std::vector<Type> infer_concatenate(const OpNode& op) {
  const auto axis = static_cast<size_t>(op.attrs<AxisAttributes>().axis);
  Type y = op.inputs[0].type();
  for (size_t i = 1; i < op.inputs.size(); ++i) {
    Type part = op.inputs[i].type();
    const auto fail = [&](std::string_view expected) {
      shape_error(op, fmt::format("expected parts {}, got {} and {}", expected,
                                  to_text(op.inputs[0].type()), to_text(op.inputs[i].type())));
    };
    if (part.dtype != y.dtype) fail("of one dtype");
    if (part.rank() != y.rank()) fail("with as many dims");
    const int64_t size = part.dims[axis];
    part.dims[axis] = y.dims[axis];
    if (part != y) fail(fmt::format("whose shapes differ only along axis {}", axis));
    y.dims[axis] += size;
  }
  return {y};
}

const OpRules concatenate_rules(
    {.name = "concatenate",
     .infer = infer_concatenate,
     .batch = along_axis,
     .vjp =
         [](X x, Y, Ct g) {
           const int64_t axis = x.attrs<AxisAttributes>().axis;
           Shape sizes;
           for (size_t i = 0; i < x.size(); ++i) sizes.push_back(x[i].dim(axis));
           return split(g[0], sizes, axis);
         },
     .eval =
         [](const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
            std::span<HostTensor> y) {
           const auto axis = static_cast<size_t>(op.attrs<AxisAttributes>().axis);
           StridedView to = dense_view(y[0].shape());
           for (const HostTensor* part : x) {
             copy_strided(part->shape(), *part, dense_view(part->shape()), y[0], to);
             to.offset += part->shape()[axis] * to.strides[axis];
           }
         },
     .hlo =
         [](const OpNode& op, HloBuilder& b, const HloValues& x) {
           return HloValues{
               b.one("stablehlo.concatenate", x, op.outputs[0],
                     fmt::format("dimension = {} : i64", op.attrs<AxisAttributes>().axis))};
         },
     .cost = kNoFlops,
     .traits = {.cheap = true}});

int64_t from_the_front(int64_t i, int64_t size) { return i < 0 ? i + size : i; }

}  // namespace

Tensor slice(const Tensor& x, const Shape& starts, const Shape& limits, const Shape& strides) {
  const Shape steps = strides.empty() ? Shape(x.shape().size(), 1) : strides;
  const size_t rank = x.shape().size();
  const bool whole = limits == x.shape() && starts == Shape(rank, 0) && steps == Shape(rank, 1);
  return whole ? x : emit(slice_rules, {x}, SliceAttributes(starts, limits, steps));
}

Tensor slice_in_dim(const Tensor& x, int64_t axis, int64_t start, int64_t limit, int64_t stride) {
  const auto d = static_cast<size_t>(normalized_axis("slice", x, axis));
  Shape starts(x.shape().size(), 0), limits = x.shape(), strides(x.shape().size(), 1);
  starts[d] = from_the_front(start, limits[d]);
  limits[d] = from_the_front(limit, limits[d]);
  strides[d] = stride;
  return slice(x, starts, limits, strides);
}

Tensor index_in_dim(const Tensor& x, int64_t axis, int64_t i) {
  const int64_t size = x.dim(normalized_axis("index_in_dim", x, axis));
  const int64_t at = from_the_front(i, size);
  if (at < 0 || at >= size) {
    shape_error("index_in_dim",
                fmt::format("expected an index from {} to {}, got {}", -size, size - 1, i), {x});
  }
  return squeeze(slice_in_dim(x, axis, at, at + 1), {axis});
}

Tensor pad(const Tensor& x, const Tensor& value, const Shape& low, const Shape& high,
           const Shape& interior) {
  const Shape none(x.shape().size(), 0);
  const Shape& holes = interior.empty() ? none : interior;
  const bool is_whole = low == none && high == none && holes == none;
  if (is_whole && value.type() == Type{x.dtype(), {}}) return x;
  return emit(pad_rules, {x, value}, PadAttributes(low, high, holes));
}

Tensor pad(const Tensor& x, Scalar value, const Shape& low, const Shape& high,
           const Shape& interior) {
  return pad(x, full_for("pad", x, {}, value), low, high, interior);
}

Tensor pad_in_dim(const Tensor& x, int64_t axis, int64_t low, int64_t high, Scalar value) {
  const auto d = static_cast<size_t>(normalized_axis("pad", x, axis));
  Shape lows(x.shape().size(), 0), highs = lows;
  lows[d] = low;
  highs[d] = high;
  return pad(x, value, lows, highs);
}

Tensor concatenate(const Values& parts, int64_t axis) {
  if (parts.empty()) shape_error("concatenate", "expected at least one part, got none", {});
  axis = normalized_axis("concatenate", parts[0], axis);
  return parts.size() == 1 ? parts[0] : emit(concatenate_rules, parts, AxisAttributes(axis));
}

Tensor stack(const Values& parts, int64_t axis) {
  if (parts.empty()) shape_error("stack", "expected at least one part, got none", {});
  Values expanded;
  for (const Tensor& part : parts) expanded.push_back(expand_dims(part, axis));
  return concatenate(expanded, axis);
}

Values split(const Tensor& x, const Shape& sizes, int64_t axis) {
  axis = normalized_axis("split", x, axis);
  check_sizes("split", "sizes", sizes, {x});
  if (std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != x.dim(axis)) {
    shape_error(
        "split",
        fmt::format("expected sizes that add up to {}, got {}", x.dim(axis), to_text(sizes)), {x});
  }
  Values parts;
  int64_t start = 0;
  for (const int64_t size : sizes) {
    parts.push_back(slice_in_dim(x, axis, start, start + size));
    start += size;
  }
  return parts;
}

Values split_equally(const Tensor& x, int64_t count, int64_t axis) {
  axis = normalized_axis("split_equally", x, axis);
  if (count < 1 || x.dim(axis) % count != 0) {
    shape_error(
        "split_equally",
        fmt::format("expected a number of parts that divides {}, got {}", x.dim(axis), count), {x});
  }
  return split(x, Shape(static_cast<size_t>(count), x.dim(axis) / count), axis);
}

Tensor roll(const Tensor& x, int64_t shift, int64_t axis) {
  axis = normalized_axis("roll", x, axis);
  const int64_t n = x.dim(axis);
  const int64_t moved = n == 0 ? 0 : (shift % n + n) % n;
  if (moved == 0) return x;
  return concatenate({slice_in_dim(x, axis, n - moved, n), slice_in_dim(x, axis, 0, n - moved)},
                     axis);
}

Tensor tile(const Tensor& x, const Shape& repeats) {
  if (repeats.size() != x.shape().size()) {
    shape_error("tile", fmt::format("expected {} repeats, got {}", x.rank(), repeats.size()), {x});
  }
  check_sizes("tile", "repeats", repeats, {x});
  // [a, b] -> [r, a, s, b] -> [r * a, s * b]
  Shape spread, shape;
  std::vector<int64_t> dims;
  for (size_t d = 0; d < repeats.size(); ++d) {
    spread.insert(spread.end(), {repeats[d], x.shape()[d]});
    dims.push_back(static_cast<int64_t>(2 * d + 1));
    shape.push_back(repeats[d] * x.shape()[d]);
  }
  return reshape(broadcast_in_dim(x, spread, dims), shape);
}

Tensor repeat(const Tensor& x, int64_t count, int64_t axis) {
  axis = normalized_axis("repeat", x, axis);
  check_at_least("repeat", "a count", count, 0, {x});
  Shape spread = x.shape();
  spread.insert(spread.begin() + axis + 1, count);
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < x.rank(); ++d) dims.push_back(d <= axis ? d : d + 1);
  Shape shape = x.shape();
  shape[axis] *= count;
  return reshape(broadcast_in_dim(x, spread, dims), shape);
}

}  // namespace axle
