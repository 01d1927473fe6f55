#include <fmt/format.h>

#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/combine.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"

namespace axle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct ReduceAttributes : Attributes {
  explicit ReduceAttributes(std::vector<int64_t> a) : axes(std::move(a)) {}
  std::vector<int64_t> axes;  // ascending
  std::string text() const override { return "axes = " + to_text(axes); }
};

std::vector<Type> infer_reduce(const OpNode& op) {
  const Type& x = op.inputs[0].type();
  return {Type{x.dtype, without_dims(x.dims, op.attrs<ReduceAttributes>().axes)}};
}

std::vector<Type> infer_sum(const OpNode& op) {
  check_real_or_complex(op);
  return infer_reduce(op);
}

std::vector<Type> infer_number_reduce(const OpNode& op) {
  check_numbers(op);
  return infer_reduce(op);
}

std::vector<Type> infer_bits_reduce(const OpNode& op) {
  const DType dtype = op.inputs[0].dtype();
  if (is_differentiable(dtype))
    shape_error(op, fmt::format("expected integers or predicates, got {}", name_of(dtype)));
  return infer_reduce(op);
}

std::vector<Batched> batch_reduce(BatchX x) {
  return emit_batched(x, ReduceAttributes(shifted(x.attrs<ReduceAttributes>().axes)));
}

// Broadcasts g along the reduced dims to the shape of x.
Tensor spread(const Tensor& g, const Tensor& x, const std::vector<int64_t>& axes) {
  return broadcast_in_dim(g, x.shape(), other_dims(x.rank(), axes));
}

Values sum_vjp(X x, Y, Ct g) { return {spread(g[0], x[0], x.attrs<ReduceAttributes>().axes)}; }

// The vjp of max and min: the elements that equal the result share its gradient. The result is
// computed again, of an x behind a barrier. Without it XLA computes x a second time inside the
// comparison, and rounds it otherwise than in the forward pass: no element equals the result then.
template <Tensor (*choose)(const Tensor&, const std::vector<int64_t>&, bool)>
Values chooser_vjp(X x, Y, Ct g) {
  const auto& axes = x.attrs<ReduceAttributes>().axes;
  const Tensor fixed = optimization_barrier({x[0]})[0];
  const Tensor chosen = astype(equal(fixed, choose(fixed, axes, true)), fixed.dtype());
  return {spread(g[0] / reduce_sum(chosen, axes), fixed, axes) * chosen};
}

// The derivative with respect to an element is the product of the elements before it and of those
// after it. Zeros need no special case.
Values prod_vjp(X x, Y, Ct g) {
  const auto& axes = x.attrs<ReduceAttributes>().axes;
  std::vector<int64_t> perm = other_dims(x[0].rank(), axes);
  const auto kept = std::ssize(perm);
  perm.insert(perm.end(), axes.begin(), axes.end());
  const Tensor moved = transpose(x[0], perm);
  Shape flat(moved.shape().begin(), moved.shape().begin() + kept);
  flat.push_back(-1);
  const Tensor row = reshape(moved, flat);
  const auto others = [&](bool reversed) {
    const Tensor shifted = pad_in_dim(row, -1, reversed ? -1 : 1, reversed ? 1 : -1, 1);
    return cumprod(shifted, -1, reversed);
  };
  if (row.type().num_elements() == 0) return {x[0]};
  Shape expanded = g[0].shape();
  expanded.push_back(1);
  const Tensor gx = reshape(g[0], expanded) * (others(false) * others(true));
  std::vector<int64_t> back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) back[perm[i]] = static_cast<int64_t>(i);
  return {transpose(reshape(gx, moved.shape()), back)};
}

// Returns the view that maps an index of x to its element of the result. The strides of the reduced
// dims are 0.
StridedView reduced_view(const Shape& x, const std::vector<int64_t>& axes) {
  const Shape strides = row_major_strides(without_dims(x, axes));
  StridedView view{0, Shape(x.size(), 0)};
  size_t next = 0;
  for (const int64_t d : other_dims(std::ssize(x), axes)) view.strides[d] = strides[next++];
  return view;
}

// Bitwise and, for predicates and integers.
struct And {
  static constexpr const char* kHlo = "and";
  static double identity(DType dtype) { return is_unsigned(dtype) ? kInfinity : -1; }  // all bits
  template <std::integral T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Or {
  static constexpr const char* kHlo = "or";
  static double identity(DType dtype) { return zero_value(dtype); }
  template <std::integral T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  static constexpr const char* kHlo = "xor";
  static double identity(DType dtype) { return zero_value(dtype); }
  template <std::integral T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

// Visits the elements that are reduced.
void walk_reduced(const OpNode& op, const Shape& x, const Shape&,
                  const std::function<void(const LinePair&)>& visit) {
  LinePairs(x, dense_view(x), reduced_view(x, op.attrs<ReduceAttributes>().axes)).for_each(visit);
}

template <class Combine>
HloValues lower_reduction(const OpNode& op, HloBuilder& b, const HloValues& x) {
  return {hlo_reduce(b, Combine::kHlo, x[0], Combine::identity(x[0].type.dtype),
                     op.attrs<ReduceAttributes>().axes)};
}

const OpRules reduce_sum_rules({.name = "reduce_sum",
                                .infer = infer_sum,
                                .batch = batch_reduce,
                                .vjp = sum_vjp,
                                .eval = fold<combine::Add>(walk_reduced),
                                .hlo = lower_reduction<combine::Add>,
                                .cost = num_input_elements});

const OpRules reduce_prod_rules({.name = "reduce_prod",
                                 .infer = infer_number_reduce,
                                 .batch = batch_reduce,
                                 .vjp = prod_vjp,
                                 .eval = fold<combine::Multiply>(walk_reduced),
                                 .hlo = lower_reduction<combine::Multiply>,
                                 .cost = num_input_elements});

const OpRules reduce_max_rules({.name = "reduce_max",
                                .infer = infer_number_reduce,
                                .batch = batch_reduce,
                                .vjp = chooser_vjp<reduce_max>,
                                .eval = fold<combine::Larger>(walk_reduced),
                                .hlo = lower_reduction<combine::Larger>,
                                .cost = num_input_elements});

const OpRules reduce_min_rules({.name = "reduce_min",
                                .infer = infer_number_reduce,
                                .batch = batch_reduce,
                                .vjp = chooser_vjp<reduce_min>,
                                .eval = fold<combine::Smaller>(walk_reduced),
                                .hlo = lower_reduction<combine::Smaller>,
                                .cost = num_input_elements});

const OpRules reduce_and_rules({.name = "reduce_and",
                                .infer = infer_bits_reduce,
                                .batch = batch_reduce,
                                .vjp = no_gradient,
                                .eval = fold<And>(walk_reduced),
                                .hlo = lower_reduction<And>,
                                .cost = num_input_elements});

const OpRules reduce_or_rules({.name = "reduce_or",
                               .infer = infer_bits_reduce,
                               .batch = batch_reduce,
                               .vjp = no_gradient,
                               .eval = fold<Or>(walk_reduced),
                               .hlo = lower_reduction<Or>,
                               .cost = num_input_elements});

const OpRules reduce_xor_rules({.name = "reduce_xor",
                                .infer = infer_bits_reduce,
                                .batch = batch_reduce,
                                .vjp = no_gradient,
                                .eval = fold<Xor>(walk_reduced),
                                .hlo = lower_reduction<Xor>,
                                .cost = num_input_elements});

Tensor apply(const OpRules& rules, const Tensor& x, const std::vector<int64_t>& axes,
             bool keep_dims) {
  const auto dims = normalized_axes(rules.name(), x, axes);
  const Tensor y = dims.empty() ? x : emit(rules, {x}, ReduceAttributes(dims));
  if (!keep_dims) return y;
  Shape shape = x.shape();
  for (const int64_t d : dims) shape[d] = 1;
  return reshape(y, shape);
}

// Computes small floats in f32, since they have too few bits for a running sum.
Tensor apply_in_f32(const OpRules& rules, const Tensor& x, const std::vector<int64_t>& axes,
                    bool keep_dims) {
  return astype(apply(rules, astype(x, wide_dtype(x.dtype())), axes, keep_dims), x.dtype());
}

// The dtype in which means are computed. Integers and predicates become floats, as in JAX.
DType mean_dtype(DType dtype) {
  if (is_differentiable(dtype)) return wide_dtype(dtype);
  return size_bytes(dtype) == 8 ? DType::kF64 : DType::kF32;
}
DType result_of_mean(DType dtype) { return is_differentiable(dtype) ? dtype : mean_dtype(dtype); }

}  // namespace

Tensor reduce_sum(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims) {
  return apply_in_f32(reduce_sum_rules, x, axes, keep_dims);
}
Tensor reduce_sum_in_own_dtype(const Tensor& x, const std::vector<int64_t>& axes) {
  return apply(reduce_sum_rules, x, axes, /*keep_dims=*/false);
}
Tensor reduce_prod(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims) {
  return apply_in_f32(reduce_prod_rules, x, axes, keep_dims);
}
Tensor reduce_max(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims) {
  return apply(reduce_max_rules, x, axes, keep_dims);
}
Tensor reduce_min(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims) {
  return apply(reduce_min_rules, x, axes, keep_dims);
}
Tensor reduce_and(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims) {
  return apply(reduce_and_rules, x, axes, keep_dims);
}
Tensor reduce_or(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims) {
  return apply(reduce_or_rules, x, axes, keep_dims);
}
Tensor reduce_xor(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims) {
  return apply(reduce_xor_rules, x, axes, keep_dims);
}

Tensor sum(const Tensor& x) { return reduce_sum(x, all_axes(x)); }
Tensor mean(const Tensor& x) { return mean(x, all_axes(x)); }

Tensor mean(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims) {
  if (const DType wide = mean_dtype(x.dtype()); wide != x.dtype())
    return astype(mean(astype(x, wide), axes, keep_dims), result_of_mean(x.dtype()));
  double count = 1;
  for (const int64_t d : normalized_axes("mean", x, axes)) count *= static_cast<double>(x.dim(d));
  return reduce_sum(x, axes, keep_dims) / count;
}

Tensor variance(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims) {
  if (const DType wide = mean_dtype(x.dtype()); wide != x.dtype())
    return astype(variance(astype(x, wide), axes, keep_dims), result_of_mean(x.dtype()));
  const Tensor centered = x - mean(x, axes, true);
  const Tensor squared =
      is_complex(x.dtype()) ? real(centered * conj(centered)) : centered * centered;
  return mean(squared, axes, keep_dims);
}

std::vector<int64_t> all_axes(const Tensor& x) { return axis_range(0, x.rank()); }

}  // namespace axle
