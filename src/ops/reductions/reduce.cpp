#include "ops/reductions/reduce.h"

#include <fmt/format.h>

#include "ops/batching.h"
#include "ops/create.h"
#include "ops/dims.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/broadcast.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/movement/strided.h"
#include "ops/reductions/cumulative.h"
#include "ops/rules.h"
#include "ops/stablehlo.h"

namespace axle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using detail::Number;
using detail::RealOrComplex;
using detail::wrapping;

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
  if (is_differentiable(op.inputs[0].dtype())) shape_error(op, "expected predicates or integers");
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

// The vjp of max and min: the elements that equal the result share its gradient.
Values chooser_vjp(X x, Y y, Ct g) {
  const auto& axes = x.attrs<ReduceAttributes>().axes;
  const Tensor chosen = astype(equal(x[0], spread(y[0], x[0], axes)), x[0].dtype());
  return {spread(g[0] / reduce_sum(chosen, axes), x[0], axes) * chosen};
}

// The derivative with respect to an element is the product of the elements before it and of those
// after it. Zeros need no special case.
Values prod_vjp(X x, Y, Ct g) {
  const auto& axes = x.attrs<ReduceAttributes>().axes;
  std::vector<int64_t> perm = other_dims(x[0].rank(), axes);
  const auto kept = static_cast<int64_t>(perm.size());
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
  for (size_t i = 0; i < perm.size(); ++i)
    back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return {transpose(reshape(gx, moved.shape()), back)};
}

// Returns the view that maps an index of x to its element of the result. The strides of the reduced
// dims are 0.
StridedView reduced_view(const Shape& x, const std::vector<int64_t>& axes) {
  const Shape strides = row_major_strides(without_dims(x, axes));
  StridedView view{0, Shape(x.size(), 0)};
  size_t next = 0;
  for (const int64_t d : other_dims(static_cast<int64_t>(x.size()), axes))
    view.strides[static_cast<size_t>(d)] = strides[next++];
  return view;
}

// Identities, as those of rules.h.
double one(DType) { return 1; }
double all_bits(DType dtype) { return is_unsigned(dtype) ? kInfinity : -1; }

// Returns the eval rule that starts with y = init and applies y = f(y, x) to each element.
template <class F>
EvalRule fold(Identity init, F f) {
  return [init, f](const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
                   std::span<HostTensor> y) {
    dispatch_any(y[0].dtype(), [&]<class T>(std::type_identity<T>) {
      using A = detail::Accumulator<T>;
      if constexpr (std::is_invocable_v<F, A, A>) {
        const auto size = static_cast<size_t>(y[0].size());
        const auto sums = std::make_unique_for_overwrite<A[]>(size);
        std::fill_n(sums.get(), size, convert_element<A>(init(x[0]->dtype())));
        const auto in = x[0]->values<T>();
        const Shape& shape = x[0]->shape();
        const auto lines = LinePairs(shape, dense_view(shape),
                                     reduced_view(shape, op.attrs<ReduceAttributes>().axes));
        lines.for_each([&](const LinePair& line) {
          const T* const from = in.data() + line.a;
          A* const to = sums.get() + line.b;
          if (line.b_step == 0) {
            A sum = *to;
            for (int64_t k = 0; k < line.count; ++k)
              sum = f(A(sum), convert_element<A>(from[k * line.a_step]));
            *to = sum;
          } else {
            for (int64_t k = 0; k < line.count; ++k)
              to[k * line.b_step] =
                  f(A(to[k * line.b_step]), convert_element<A>(from[k * line.a_step]));
          }
        });
        std::transform(sums.get(), sums.get() + size, y[0].values<T>().begin(),
                       [](A v) { return convert_element<T>(v); });
      }
    });
  };
}

HloValues lower(const char* combine, Identity init, const OpNode& op, HloBuilder& b,
                const HloValues& x) {
  return {hlo_reduce(b, combine, x[0], init(x[0].type.dtype), op.attrs<ReduceAttributes>().axes)};
}

const OpRules reduce_sum_rules(
    {.name = "reduce_sum",
     .infer = infer_sum,
     .batch = batch_reduce,
     .vjp = sum_vjp,
     .eval = fold(zero_value,
                  []<RealOrComplex T>(T a, T b) {
                    return wrapping(a, b, [](auto p, auto q) { return p + q; });
                  }),
     .hlo = [](const OpNode& op, HloBuilder& b,
               const HloValues& x) { return lower("add", zero_value, op, b, x); },
     .cost = num_input_elements});

const OpRules reduce_prod_rules(
    {.name = "reduce_prod",
     .infer = infer_number_reduce,
     .batch = batch_reduce,
     .vjp = prod_vjp,
     .eval = fold(one,
                  []<Number T>(T a, T b) {
                    return wrapping(a, b, [](auto p, auto q) { return p * q; });
                  }),
     .hlo = [](const OpNode& op, HloBuilder& b,
               const HloValues& x) { return lower("multiply", one, op, b, x); },
     .cost = num_input_elements});

const OpRules reduce_max_rules(
    {.name = "reduce_max",
     .infer = infer_number_reduce,
     .batch = batch_reduce,
     .vjp = chooser_vjp,
     .eval = fold(lowest_value, []<Number T>(T a, T b) { return detail::larger(a, b); }),
     .hlo = [](const OpNode& op, HloBuilder& b,
               const HloValues& x) { return lower("maximum", lowest_value, op, b, x); },
     .cost = num_input_elements});

const OpRules reduce_min_rules(
    {.name = "reduce_min",
     .infer = infer_number_reduce,
     .batch = batch_reduce,
     .vjp = chooser_vjp,
     .eval = fold(highest_value, []<Number T>(T a, T b) { return detail::smaller(a, b); }),
     .hlo = [](const OpNode& op, HloBuilder& b,
               const HloValues& x) { return lower("minimum", highest_value, op, b, x); },
     .cost = num_input_elements});

const OpRules reduce_and_rules(
    {.name = "reduce_and",
     .infer = infer_bits_reduce,
     .batch = batch_reduce,
     .vjp = no_gradient,
     .eval = fold(all_bits, []<std::integral T>(T a, T b) { return static_cast<T>(a & b); }),
     .hlo = [](const OpNode& op, HloBuilder& b,
               const HloValues& x) { return lower("and", all_bits, op, b, x); },
     .cost = num_input_elements});

const OpRules reduce_or_rules(
    {.name = "reduce_or",
     .infer = infer_bits_reduce,
     .batch = batch_reduce,
     .vjp = no_gradient,
     .eval = fold(zero_value, []<std::integral T>(T a, T b) { return static_cast<T>(a | b); }),
     .hlo = [](const OpNode& op, HloBuilder& b,
               const HloValues& x) { return lower("or", zero_value, op, b, x); },
     .cost = num_input_elements});

Tensor apply(const OpRules& rules, const Tensor& x, const std::vector<int64_t>& axes,
             bool keep_dims) {
  const auto dims = normalized_axes(rules.name(), x, axes);
  const Tensor y = dims.empty() ? x : emit(rules, {x}, ReduceAttributes(dims));
  if (!keep_dims) return y;
  Shape shape = x.shape();
  for (const int64_t d : dims) shape[static_cast<size_t>(d)] = 1;
  return reshape(y, shape);
}

// Computes small floats in f32, since they have too few bits for a running sum.
Tensor apply_in_f32(const OpRules& rules, const Tensor& x, const std::vector<int64_t>& axes,
                    bool keep_dims) {
  return astype(apply(rules, astype(x, wide_dtype(x.dtype())), axes, keep_dims), x.dtype());
}

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

Tensor sum(const Tensor& x) { return reduce_sum(x, all_axes(x)); }
Tensor mean(const Tensor& x) { return mean(x, all_axes(x)); }

Tensor mean(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims) {
  if (const DType wide = wide_dtype(x.dtype()); wide != x.dtype())
    return astype(mean(astype(x, wide), axes, keep_dims), x.dtype());
  double count = 1;
  for (const int64_t d : normalized_axes("mean", x, axes)) count *= static_cast<double>(x.dim(d));
  return reduce_sum(x, axes, keep_dims) / count;
}

Tensor variance(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims) {
  if (const DType wide = wide_dtype(x.dtype()); wide != x.dtype())
    return astype(variance(astype(x, wide), axes, keep_dims), x.dtype());
  const Tensor centered = x - mean(x, axes, true);
  return mean(centered * centered, axes, keep_dims);
}

std::vector<int64_t> all_axes(const Tensor& x) { return axis_range(0, x.rank()); }

}  // namespace axle
