// The ops of random programs: a table of functions that take any operands and keep numbers tame.
#pragma once

#include <span>
#include <string_view>

#include "ops/ops.h"
#include "transform/transform.h"

namespace axle::testing::fuzz {

/// Returns t with another shape and dtype: its elements in order, repeated or cut off.
inline Tensor fit(const Tensor& t, const Type& type) {
  Tensor out = t;
  if (out.dtype() != type.dtype) out = astype(out, type.dtype);
  if (out.shape() == type.dims) return out;
  const int64_t want = type.num_elements();
  out = out.rank() == 1 ? out : reshape(out, {out.type().num_elements()});
  if (out.dim(0) == 0) return zeros(type.dims, type.dtype);
  if (out.dim(0) < want) out = tile(out, {(want + out.dim(0) - 1) / out.dim(0)});
  if (out.dim(0) > want) out = slice_in_dim(out, 0, 0, want);
  return out.shape() == type.dims ? out : reshape(out, type.dims);
}
/// Returns x as floats.
inline Tensor floats(const Tensor& x) { return is_float(x.dtype()) ? x : astype(x, DType::kF32); }
/// Returns x as i32, of a size at which products of two do not overflow.
inline Tensor integers(const Tensor& x) {
  if (is_float(x.dtype())) return astype(clamp(-9, x * 2, 9), DType::kI32);
  return x.dtype() == DType::kI32 ? remainder(x, full_like(x, 97)) : astype(x, DType::kI32);
}
/// Returns x with at least one dim.
inline Tensor with_dim(const Tensor& x) { return x.rank() == 0 ? reshape(x, {1}) : x; }
/// Returns x with at most three dims of at most 4.
inline Tensor small(Tensor x) {
  while (x.rank() > 3) x = flatten(x, 0, 1);
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (x.dim(d) > 4) x = slice_in_dim(x, d, 0, 4);
  }
  return x;
}

using Numbers = std::span<const int64_t>;

struct OpEntry {
  std::string_view name;
  size_t num_operands;
  bool smooth;  // differentiable everywhere
  Tensor (*build)(const Values& x, Numbers n);
};

namespace ops {

inline Tensor like(const Tensor& t, const Tensor& other) { return fit(t, other.type()); }
inline Tensor scalar_index(const Tensor& t) { return fit(integers(t), {DType::kI32, {}}); }
inline int64_t axis_of(const Tensor& x, Numbers n) { return n[0] % x.rank(); }
inline Tensor matrix(const Tensor& t, int64_t rows, int64_t columns, DType dtype) {
  return fit(t, {dtype, {rows, columns}});
}

// clang-format takes `operator-` before `>` for an arrow.
inline Tensor minus(const Tensor& a, const Tensor& b) { return a - b; }

template <Tensor (*kFunction)(const Tensor&)>
Tensor unary(const Values& x, Numbers) {
  return kFunction(floats(x[0]));
}
template <Tensor (*kFunction)(const Tensor&, const Tensor&)>
Tensor binary(const Values& x, Numbers) {
  const Tensor a = floats(x[0]);
  return kFunction(a, like(x[1], a));
}
template <Tensor (*kFunction)(const Tensor&, const std::vector<int64_t>&, bool)>
Tensor reduction(const Values& x, Numbers n) {
  const Tensor a = with_dim(floats(x[0]));
  return kFunction(a, {axis_of(a, n)}, n[1] % 2 == 0);
}
template <Tensor (*kFunction)(const Tensor&, int64_t, bool)>
Tensor cumulative(const Values& x, Numbers n) {
  const Tensor a = with_dim(floats(x[0]));
  return kFunction(a, axis_of(a, n), n[1] % 2 == 0);
}
template <Tensor (*kFunction)(const Tensor&, const Tensor&)>
Tensor integer(const Values& x, Numbers) {
  const Tensor a = integers(x[0]);
  return kFunction(a, like(integers(x[1]), a));
}

}  // namespace ops

/// All ops of random programs.
inline const std::vector<OpEntry>& op_table() {
  using namespace ops;
  static const std::vector<OpEntry> table = {
      {"sin", 1, true, unary<sin>}, {"cos", 1, true, unary<cos>}, {"tanh", 1, true, unary<tanh>},
      {"logistic", 1, true, unary<logistic>}, {"softplus", 1, true, unary<softplus>},
      {"abs", 1, false, unary<abs>}, {"floor", 1, false, unary<floor>},
      {"sign", 1, false, unary<sign>},
      {"negative", 1, true, [](const Values& x, Numbers) { return -floats(x[0]); }},
      {"exp of sin", 1, true, [](const Values& x, Numbers) { return exp(sin(floats(x[0]))); }},
      {"expm1 of sin", 1, true, [](const Values& x, Numbers) { return expm1(sin(floats(x[0]))); }},
      {"root", 1, true,
       [](const Values& x, Numbers) {
         const Tensor a = floats(x[0]);
         return sqrt(a * a + 1);
       }},
      {"inverse root", 1, true,
       [](const Values& x, Numbers) { return rsqrt(square(floats(x[0])) + 0.5); }},
      {"cube", 1, true,
       [](const Values& x, Numbers) { return integer_pow(tanh(floats(x[0])), 3); }},
      {"relu", 1, false, [](const Values& x, Numbers) { return maximum(floats(x[0]), 0); }},
      {"clamp", 1, false, [](const Values& x, Numbers) { return clamp(-0.75, floats(x[0]), 0.5); }},
      {"round", 1, false,
       [](const Values& x, Numbers) { return reduce_precision(floats(x[0]), 8, 7); }},
      {"shift", 1, true,
       [](const Values& x, Numbers n) { return floats(x[0]) + 0.25 * static_cast<double>(n[0]); }},
      {"half", 1, true, [](const Values& x, Numbers) { return floats(x[0]) * 0.5; }},
      {"add", 2, true, binary < operator+> }, {"subtract", 2, true, binary<minus>},
       {"multiply", 2, true, binary < operator*> }, {"maximum", 2, false, binary<maximum>},
        {"minimum", 2, false, binary<minimum>}, {"logaddexp", 2, true, binary<logaddexp>},
        {"divide", 2, true,
         [](const Values& x, Numbers) {
           const Tensor a = floats(x[0]), b = like(x[1], a);
           return a / (b * b + 1);
         }},
        {"atan2", 2, true,
         [](const Values& x, Numbers) {
           const Tensor a = floats(x[0]), b = like(x[1], a);
           return atan2(a, b * b + 1);
         }},
        {"pow", 2, true,
         [](const Values& x, Numbers) {
           const Tensor a = floats(x[0]), b = like(x[1], a);
           return pow(square(sin(a)) + 1, tanh(b));
         }},
        {"add a row", 2, true,
         [](const Values& x, Numbers) {
           const Tensor a = with_dim(floats(x[0]));
           return a + fit(x[1], {a.dtype(), {a.dim(-1)}});
         }},
        {"select", 3, false,
         [](const Values& x, Numbers) {
           const Tensor a = floats(x[0]), b = like(x[1], a);
           return select(a < like(x[2], a), b, a);
         }},
        {"select_n", 4, false,
         [](const Values& x, Numbers n) {
           const Tensor a = floats(x[1]);
           const Tensor which =
               n[0] % 2 ? scalar_index(x[0]) : fit(integers(x[0]), {DType::kI32, a.shape()});
           return select_n(which, {a, like(x[2], a), like(x[3], a)});
         }},
        {"less", 2, false,
         [](const Values& x, Numbers) {
           const Tensor a = floats(x[0]);
           return a < like(x[1], a);
         }},
        {"integers", 1, false, [](const Values& x, Numbers) { return integers(x[0]); }},
        {"add integers", 2, false, integer < operator+> },
         {"multiply integers", 2, false, integer < operator*> },
          {"xor", 2, false, integer < operator^> },
           {"popcount", 1, false,
            [](const Values& x, Numbers) { return popcount(integers(x[0])); }},
           {"bf16", 1, false,
            [](const Values& x, Numbers) { return astype(floats(x[0]), DType::kBF16); }},
           {"f32", 1, false,
            [](const Values& x, Numbers) { return astype(floats(x[0]), DType::kF32); }},
           {"f64", 1, false,
            [](const Values& x, Numbers) { return astype(floats(x[0]), DType::kF64); }},
           {"sum", 1, true, reduction<reduce_sum>},
           {"mean", 1, true, reduction<mean>},
           {"variance", 1, true, reduction<variance>},
           {"max", 1, false, reduction<reduce_max>},
           {"min", 1, false, reduction<reduce_min>},
           {"logsumexp", 1, true, cumulative<logsumexp>},
           {"softmax", 1, true,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(floats(x[0]));
              return n[1] % 2 ? softmax(a, axis_of(a, n)) : log_softmax(a, axis_of(a, n));
            }},
           {"argmax", 1, false,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(floats(x[0]));
              return argmax(a, axis_of(a, n));
            }},
           {"cumsum", 1, true, cumulative<cumsum>},
           {"cumprod", 1, true,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(floats(x[0]));
              return cumprod(sin(a) + 1.5, axis_of(a, n), n[1] % 2 == 0);
            }},
           {"cummax", 1, false, cumulative<cummax>},
           {"cumlogsumexp", 1, true, cumulative<cumlogsumexp>},
           {"flatten", 1, true, [](const Values& x, Numbers) { return flatten(with_dim(x[0])); }},
           {"transpose", 1, true,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(x[0]);
              return swap_axes(a, axis_of(a, n), n[1] % a.rank());
            }},
           {"reverse", 1, true,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(x[0]);
              return reverse(a, {axis_of(a, n)});
            }},
           {"new dim", 1, true,
            [](const Values& x, Numbers n) { return expand_dims(x[0], n[0] % (x[0].rank() + 1)); }},
           {"broadcast", 1, true,
            [](const Values& x, Numbers n) {
              Shape shape = x[0].shape();
              shape.insert(shape.begin(), n[0] % 3 + 1);
              return broadcast_to(x[0], shape);
            }},
           {"slice", 1, true,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(x[0]);
              const int64_t axis = axis_of(a, n), size = a.dim(axis);
              return slice_in_dim(a, axis, n[1] % size, size, n[2] % 2 + 1);
            }},
           {"index", 1, true,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(x[0]);
              return index_in_dim(a, axis_of(a, n), n[1] % a.dim(axis_of(a, n)));
            }},
           {"pad", 2, true,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(x[0]);
              Shape low(static_cast<size_t>(a.rank()), 0), high = low, interior = low;
              const int64_t axis = axis_of(a, n);
              low[axis] = a.dim(axis) > 1 ? n[1] % 3 - 1 : n[1] % 2;
              high.back() = 1;
              interior[0] = n[2] % 2;
              return pad(a, fit(x[1], {a.dtype(), {}}), low, high, interior);
            }},
           {"concatenate", 2, true,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(x[0]);
              return concatenate({a, like(x[1], a), a}, axis_of(a, n));
            }},
           {"stack", 2, true,
            [](const Values& x, Numbers n) {
              return stack({x[0], like(x[1], x[0])}, n[0] % (x[0].rank() + 1));
            }},
           {"roll", 1, true,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(x[0]);
              return roll(a, n[1], axis_of(a, n));
            }},
           {"repeat", 1, true,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(x[0]);
              return repeat(a, 2, axis_of(a, n));
            }},
           {"dynamic slice", 2, false,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(x[0]);
              const int64_t axis = axis_of(a, n);
              return dynamic_slice_in_dim(a, scalar_index(x[1]), (a.dim(axis) + 1) / 2, axis);
            }},
           {"dynamic index", 2, false,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(x[0]);
              return dynamic_index_in_dim(a, scalar_index(x[1]), axis_of(a, n));
            }},
           {"dynamic update", 3, false,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(x[0]);
              Type part = a.type();
              part.dims[axis_of(a, n)] = 1;
              return dynamic_update_slice_in_dim(a, fit(x[1], part), scalar_index(x[2]),
                                                 axis_of(a, n));
            }},
           {"dynamic roll", 2, false,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(x[0]);
              return dynamic_roll(a, scalar_index(x[1]), axis_of(a, n));
            }},
           {"take", 2, false,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(floats(x[0]));
              const GatherOptions fill{.mode = GatherMode::kFill, .fill = 0.5};
              return take(a, integers(x[1]), axis_of(a, n), n[1] % 2 ? fill : GatherOptions{});
            }},
           {"take along", 2, false,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(x[0]);
              return take_along_axis(a, fit(integers(x[1]), {DType::kI32, a.shape()}),
                                     axis_of(a, n));
            }},
           {"add at", 3, false,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(floats(x[0]));
              const int64_t axis = axis_of(a, n);
              Type part = a.type();
              part.dims[axis] = 3;
              const ScatterOptions clip{.mode = ScatterMode::kClip};
              return add_at(a, fit(integers(x[1]), {DType::kI32, {3}}), fit(x[2], part), axis,
                            n[1] % 2 ? clip : ScatterOptions{});
            }},
           {"max at", 3, false,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(floats(x[0]));
              const int64_t axis = axis_of(a, n);
              Type part = a.type();
              part.dims[axis] = 2;
              return max_at(a, fit(integers(x[1]), {DType::kI32, {2}}), fit(x[2], part), axis);
            }},
           {"one hot", 1, false,
            [](const Values& x, Numbers n) { return one_hot(integers(x[0]), n[0] % 3 + 2); }},
           {"sort", 1, false,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(floats(x[0]));
              return sort(a, axis_of(a, n),
                          n[1] % 2 ? SortOrder::kAscending : SortOrder::kDescending);
            }},
           {"argsort", 1, false,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(floats(x[0]));
              return argsort(a, axis_of(a, n));
            }},
           {"sort by key", 2, false,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(floats(x[0]));
              return sort_key_val({like(x[1], a), a}, axis_of(a, n))[1];
            }},
           {"top_k", 1, false,
            [](const Values& x, Numbers n) {
              const Tensor a = with_dim(floats(x[0]));
              return top_k(a, n[0] % a.dim(-1) + 1).first;
            }},
           {"dot", 2, true,
            [](const Values& x, Numbers n) {
              const Tensor a = floats(x[0]);
              const int64_t k = n[0] % 3 + 1;
              return dot(matrix(a, n[1] % 3 + 1, k, a.dtype()),
                         matrix(x[1], k, n[2] % 3 + 1, a.dtype()));
            }},
           {"vector dot", 2, true,
            [](const Values& x, Numbers) {
              const Tensor a = with_dim(floats(x[0]));
              return dot(a, matrix(x[1], a.dim(-1), 2, a.dtype())) * 0.5;
            }},
           {"batched dot", 2, true,
            [](const Values& x, Numbers n) {
              const Tensor a = floats(x[0]);
              const Tensor p = fit(a, {a.dtype(), {2, n[0] % 3 + 1, 2}});
              const Tensor q = fit(x[1], {a.dtype(), {2, 2, n[1] % 2 + 1}});
              return dot_general(p, q, {{2}, {1}, {0}, {0}});
            }},
           {"einsum", 2, true,
            [](const Values& x, Numbers n) {
              const Tensor a = floats(x[0]);
              const Tensor p = matrix(a, 2, n[0] % 3 + 1, a.dtype());
              return einsum("ij,jk->kij", p, matrix(x[1], p.dim(1), 2, a.dtype()));
            }},
           {"convolution", 2, true,
            [](const Values& x, Numbers n) {
              const Tensor a = floats(x[0]);
              return convolution(fit(a, {a.dtype(), {1, 4, 2}}), fit(x[1], {a.dtype(), {2, 2, 2}}),
                                 {.strides = {n[0] % 2 + 1}, .kernel_dilation = {n[1] % 2 + 1}});
            }},
           {"max_pool", 1, false,
            [](const Values& x, Numbers n) {
              const Tensor a = floats(x[0]);
              return max_pool(fit(a, {a.dtype(), {1, 4, 2}}),
                              {.window = {2}, .strides = {n[0] % 2 + 1}});
            }},
           {"avg_pool", 1, true,
            [](const Values& x, Numbers n) {
              const Tensor a = floats(x[0]);
              return avg_pool(fit(a, {a.dtype(), {1, 4, 2}}),
                              {.window = {2}, .strides = {n[0] % 2 + 1}});
            }},
           {"uniform", 1, false,
            [](const Values& x, Numbers n) {
              const random::Key key = random::random_key(n[0]);
              return random::uniform(random::fold_in(key, scalar_index(x[0])), {2, n[1] % 3 + 1});
            }},
           {"constant", 0, true,
            [](const Values&, Numbers n) {
              const auto v = static_cast<float>(n[0]) / 8;
              return constant(HostTensor({2}, {v, 0.5f - v}));
            }},
           {"precise constant", 0, true,
            [](const Values&, Numbers n) {
              const double v = 1.0 / 3 + 1e-12 * static_cast<double>(n[0]);
              return constant(HostTensor({2}, {v, -v}));
            }},
           {"full", 0, true,
            [](const Values&, Numbers n) {
              return full({n[1] % 3 + 1}, 0.1 * static_cast<double>(n[0]),
                          n[2] % 2 ? DType::kF32 : DType::kBF16);
            }},
           {"iota", 0, true,
            [](const Values&, Numbers n) {
              return iota({n[0] % 3 + 1, 2}, n[1] % 2);
            }},
           {"name", 1, true,
            [](const Values& x, Numbers n) { return name(x[0], n[0] % 2 ? "a" : "b"); }},
           {"stop_gradient", 1, false,
            [](const Values& x, Numbers) { return stop_gradient(x[0]); }},
           {"barrier", 2, true,
            [](const Values& x, Numbers) {
              return optimization_barrier({x[0], x[1]})[0];
            }}};
  return table;
}

}  // namespace axle::testing::fuzz
