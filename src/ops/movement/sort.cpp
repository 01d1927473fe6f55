#include <fmt/format.h>

#include <compare>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/movement/window_rules.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"

namespace axle {
namespace {

struct SortAttributes : Attributes {
  SortAttributes(int64_t a, int64_t n, SortOrder o) : axis(a), num_keys(n), order(o) {}
  int64_t axis, num_keys;
  SortOrder order;
  std::string text() const override {
    return fmt::format("axis = {}, num_keys = {}, order = {}", axis, num_keys,
                       order == SortOrder::kAscending ? "ascending" : "descending");
  }
};

std::vector<Type> infer_sort(const OpNode& op) {
  std::vector<Type> types;
  for (const Tensor& t : op.inputs) {
    if (t.shape() != op.inputs[0].shape()) shape_error(op, "expected operands of one shape");
    if (types.size() < static_cast<size_t>(op.attrs<SortAttributes>().num_keys) &&
        is_complex(t.dtype()))
      shape_error(op, fmt::format("expected keys that have an order, got {}", name_of(t.dtype())));
    types.push_back(t.type());
  }
  return types;
}

// Compares two elements of a tensor and returns -1, 0 or 1. NaN is above all other values.
using Comparison = std::function<int(size_t, size_t)>;
Comparison comparison(const HostTensor& x) {
  return dispatch(x.dtype(), [&]<class T>(std::type_identity<T>) -> Comparison {
    using C = Computed<T>;
    return [in = x.values<T>()](size_t i, size_t j) {
      const C a(in[i]), b(in[j]);
      if (a != a || b != b) return int(a != a) - int(b != b);
      return int(a > b) - int(a < b);
    };
  });
}

// The same in the total order of floats.
Comparison total_comparison(const HostTensor& x) {
  return dispatch(x.dtype(), [&]<class T>(std::type_identity<T>) -> Comparison {
    using C = Computed<T>;
    return [in = x.values<T>()](size_t i, size_t j) {
      const C a(in[i]), b(in[j]);
      const auto order = [&] {
        if constexpr (std::is_floating_point_v<C>)
          return std::strong_order(a, b);
        else
          return a <=> b;
      }();
      return int(order > 0) - int(order < 0);
    };
  });
}

// Returns the sorted order of the line's elements, as indices along the line.
std::vector<size_t> sorted_line(const std::vector<Comparison>& keys, SortOrder order, size_t start,
                                size_t step, size_t n) {
  std::vector<size_t> line(n);
  std::iota(line.begin(), line.end(), size_t{0});
  std::ranges::stable_sort(line, [&](size_t i, size_t j) {
    for (const Comparison& key : keys) {
      const int c = key(start + i * step, start + j * step);
      if (c != 0) return order == SortOrder::kAscending ? c < 0 : c > 0;
    }
    return false;
  });
  return line;
}

void eval_sort(const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
               std::span<HostTensor> y) {
  const auto& a = op.attrs<SortAttributes>();
  std::vector<Comparison> keys;
  for (int64_t i = 0; i < a.num_keys; ++i) keys.push_back(comparison(*x[i]));
  for_each_line(x[0]->shape(), a.axis, [&](size_t start, size_t step, size_t n) {
    const auto line = sorted_line(keys, a.order, start, step, n);
    for (size_t operand = 0; operand < x.size(); ++operand) {
      dispatch_size(y[operand].dtype(), [&]<class T>(std::type_identity<T>) {
        const auto in = x[operand]->elements<T>();
        const auto out = y[operand].elements<T>();
        for (size_t i = 0; i < n; ++i) out[start + i * step] = in[start + line[i] * step];
      });
    }
  });
}

// Sorting the cotangents by the original indices of their elements moves them back.
Values sort_vjp(X x, Y, Ct g) {
  const auto& a = x.attrs<SortAttributes>();
  Values operands;
  for (size_t i = 0; i < x.size(); ++i) operands.push_back(x[i]);
  operands.push_back(iota(x[0].shape(), a.axis));
  Values scattered = {sort_key_val(operands, a.axis, a.num_keys, a.order).back()};
  for (size_t i = 0; i < x.size(); ++i) {
    if (is_differentiable(x[i].dtype())) scattered.push_back(g[i]);
  }
  const Values returned = sort_key_val(scattered, a.axis);
  Values out;
  size_t next = 1;
  for (size_t i = 0; i < x.size(); ++i)
    out.push_back(is_differentiable(x[i].dtype()) ? returned[next++] : Tensor());
  return out;
}

// Merge sort compares each of `elements` once on each of log2(n) levels, n being the length of a
// line (Knuth, "The Art of Computer Programming", volume 3, section 5.2.4).
double comparisons(double elements, int64_t n) {
  return elements * std::log2(static_cast<double>(std::max<int64_t>(n, 1)));
}
// A comparison looks at each key, as it must where the keys before it are equal.
double sort_cost(const OpNode& op) {
  const auto& a = op.attrs<SortAttributes>();
  const Type& x = op.inputs[0].type();
  if (x.rank() == 0) return 0;
  return static_cast<double>(a.num_keys) * comparisons(num_input_elements(op), x.dims[a.axis]);
}

const OpRules sort_rules({.name = "sort",
                          .infer = infer_sort,
                          .batch =
                              [](BatchX x) {
                                const auto& a = x.attrs<SortAttributes>();
                                return emit_batched(
                                    x, SortAttributes(a.axis + 1, a.num_keys, a.order));
                              },
                          .vjp = sort_vjp,
                          .eval = eval_sort,
                          .hlo =
                              [](const OpNode& op, HloBuilder& b, const HloValues& x) {
                                const auto& a = op.attrs<SortAttributes>();
                                return hlo_sort(b, x, a.axis, static_cast<size_t>(a.num_keys),
                                                a.order == SortOrder::kAscending ? "LT" : "GT");
                              },
                          .cost = sort_cost});

struct TopKAttributes : Attributes {
  explicit TopKAttributes(int64_t v) : k(v) {}
  int64_t k;
  std::string text() const override { return fmt::format("k = {}", k); }
};

std::vector<Type> infer_top_k(const OpNode& op) {
  check_ordered(op);
  Type type = op.inputs[0].type();
  const int64_t k = op.attrs<TopKAttributes>().k;
  if (type.rank() == 0) shape_error(op, "expected at least one dim, got a scalar");
  if (k < 0 || k > type.dims.back()) {
    shape_error(op, fmt::format("expected k from 0 to {}, the size of the last dim, got {}",
                                type.dims.back(), k));
  }
  type.dims.back() = k;
  return {type, Type{DType::kI32, type.dims}};
}

void eval_top_k(const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
                std::span<HostTensor> y) {
  const auto k = static_cast<size_t>(op.attrs<TopKAttributes>().k);
  const std::vector<Comparison> keys = {total_comparison(*x[0])};
  const auto indices = y[1].values<int32_t>();
  dispatch(y[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const auto in = x[0]->values<T>();
    const auto out = y[0].values<T>();
    size_t at = 0;
    for_each_line(x[0]->shape(), x[0]->type().rank() - 1, [&](size_t start, size_t step, size_t n) {
      const auto line = sorted_line(keys, SortOrder::kDescending, start, step, n);
      for (size_t i = 0; i < k; ++i, ++at) {
        out[at] = in[start + line[i]];
        indices[at] = static_cast<int32_t>(line[i]);
      }
    });
  });
}

// Uses one-hot rows instead of a scatter: k is small, and they fuse into one reduction.
Values top_k_vjp(X x, Y y, Ct g) {
  Shape shape = y[1].shape();
  const auto axis = std::ssize(shape);
  shape.push_back(x[0].dim(-1));
  const Tensor hit = equal(expand_dims(y[1], axis), iota(shape, axis));
  return {reduce_sum(select(hit, expand_dims(g[0], axis), scalar(0, g[0].dtype())), {axis - 1})};
}

// That of a sort of each line: the k largest are its first elements.
double top_k_cost(const OpNode& op) {
  return comparisons(num_input_elements(op), op.inputs[0].dim(-1));
}

// XLA's CPU compiler has no top_k of 4-bit integers: it takes bytes.
HloValues lower_top_k(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const std::string k = fmt::format("k = {} : i64", op.attrs<TopKAttributes>().k);
  const DType own = x[0].type.dtype;
  if (own != DType::kI4 && own != DType::kU4) return b.op("chlo.top_k", x, op.outputs, k);
  const HloValue bytes = hlo_byte_of(b, x[0]);
  const HloValues y =
      b.op("chlo.top_k", {bytes}, {Type{bytes.type.dtype, op.outputs[0].dims}, op.outputs[1]}, k);
  return {b.one("stablehlo.convert", {y[0]}, op.outputs[0]), y[1]};
}

const OpRules top_k_rules({.name = "top_k",
                           .infer = infer_top_k,
                           .batch = trailing_dims,
                           .vjp = top_k_vjp,
                           .eval = eval_top_k,
                           .hlo = lower_top_k,
                           .cost = top_k_cost});

}  // namespace

Values sort_key_val(const Values& operands, int64_t axis, int64_t num_keys, SortOrder order) {
  if (num_keys < 1 || num_keys > std::ssize(operands)) {
    shape_error("sort",
                fmt::format("expected at least one operand and 1 to {} keys, got {} keys",
                            std::max<size_t>(operands.size(), 1), num_keys),
                operands);
  }
  axis = normalized_axis("sort", operands[0], axis);
  return emit_all(sort_rules, operands, make_attributes(SortAttributes(axis, num_keys, order)));
}

Tensor sort(const Tensor& x, int64_t axis, SortOrder order) {
  return sort_key_val({x}, axis, 1, order)[0];
}

Tensor argsort(const Tensor& x, int64_t axis, SortOrder order) {
  axis = normalized_axis("argsort", x, axis);
  return sort_key_val({x, iota(x.shape(), axis)}, axis, 1, order)[1];
}

std::pair<Tensor, Tensor> top_k(const Tensor& x, int64_t k) {
  const Values both = emit_all(top_k_rules, {x}, make_attributes(TopKAttributes(k)));
  return {both[0], both[1]};
}

std::pair<Tensor, Tensor> approx_max_k(const Tensor& x, int64_t k, int64_t axis,
                                       const ApproxMaxKOptions& options) {
  constexpr std::string_view kOp = "approx_max_k";
  if (!is_float(x.dtype())) {
    shape_error(kOp, fmt::format("expected a floating-point operand, got {}", name_of(x.dtype())),
                {x});
  }
  axis = normalized_axis(kOp, x, axis);
  const int64_t size = x.dim(axis);
  if (k < 1 || k > size) {
    shape_error(kOp,
                fmt::format("expected k from 1 to {}, the size of axis {}, got {}", size, axis, k),
                {x});
  }
  // Not the negation: a NaN is refused too.
  if (!(options.recall_target > 0 && options.recall_target <= 1)) {
    shape_error(
        kOp,
        fmt::format("expected recall_target above 0 and at most 1, got {}", options.recall_target),
        {x});
  }
  if (options.reduction_input_size_override.value_or(size) < size) {
    shape_error(kOp,
                fmt::format("expected reduction_input_size_override of at least {}, the size of "
                            "axis {}, got {}",
                            size, axis, *options.reduction_input_size_override),
                {x});
  }
  const auto [values, indices] = top_k(move_axis(x, axis, -1), k);
  return {move_axis(values, -1, axis), move_axis(indices, -1, axis)};
}

}  // namespace axle
