// One or more calls of every op, with inputs. The laws over the registry (gradients, interpreter =
// PJRT) run over them.
#pragma once

#include "testing/op_sample.h"
#include "testing/op_samples_complex.h"
#include "testing/op_samples_indexing.h"
#include "testing/op_samples_linalg.h"
#include "testing/op_samples_windows.h"

namespace axle::testing {

namespace samples {

inline void add_elementwise(std::vector<OpSample>& out) {
  const Shape s = {3, 5};
  const HostTensor x = uniform(s), p = positive(s), unit = uniform(s, -0.95, 0.95),
                   y = uniform(s, -2, 2, 9);
  out.push_back(one("neg", x, operator-));
  out.push_back(one("abs", x, abs));
  out.push_back(one("sign", x, sign));
  out.push_back(one("floor", x, floor));
  out.push_back(one("ceil", x, ceil));
  out.push_back(one("round_nearest_even", x, round_nearest_even));
  out.push_back(one("round_nearest_afz", x, round_nearest_afz));
  out.push_back(one("is_finite", x, is_finite));
  out.push_back(one("exp", x, exp));
  out.push_back(one("exp2", x, exp2));
  out.push_back(one("expm1", x, expm1));
  out.push_back(one("log", p, log));
  out.push_back(one("log1p", p, log1p));
  out.push_back(one("sqrt", p, sqrt));
  out.push_back(one("rsqrt", p, rsqrt));
  out.push_back(one("cbrt", p, cbrt));
  out.push_back(one("square", x, square));
  out.push_back(one("sin", x, sin));
  out.push_back(one("cos", x, cos));
  out.push_back(one("tan", unit, tan));
  out.push_back(one("tanh", x, tanh));
  out.push_back(one("logistic", x, logistic));
  out.push_back(one("erf", x, erf));
  out.push_back(one("erfc", x, erfc));
  out.push_back(one("erf_inv", unit, erf_inv));
  const HostTensor wide = uniform(s, 0.2, 30);
  out.push_back(one("lgamma", wide, lgamma));
  out.push_back(one("lgamma", uniform(s, -3.9, -3.1), lgamma));
  out.push_back(one("digamma", wide, digamma));
  out.push_back(one("digamma", uniform(s, -3.9, -3.1), digamma));
  for (const int64_t order : {1, 2, 3}) {
    out.push_back(
        call("polygamma", {wide}, [order](const Values& v) { return polygamma(order, v[0]); }));
  }
  out.push_back(one("relu", x, relu));
  out.push_back(one("silu", x, silu));
  out.push_back(one("gelu", x, gelu));
  out.push_back(one("exact_gelu", x, exact_gelu));
  out.push_back(one("quick_gelu", x, quick_gelu));
  out.push_back(two("add", x, y, operator+));
  out.push_back(two("sub", x, y, operator-));
  out.push_back(two("mul", x, y, operator*));
  out.push_back(two("div", x, p, operator/));
  out.push_back(two("div", integers(s), integers(s, DType::kI32, 3, 9), operator/));
  out.push_back(two("rem", uniform(s, 2, 9), p, remainder));
  out.push_back(two("rem", integers(s), integers(s, DType::kI32, 3, 9), remainder));
  out.push_back(two("max", x, y, maximum));
  out.push_back(two("min", x, y, minimum));
  out.push_back(two("atan2", x, p, atan2));
  out.push_back(two("pow", p, y, pow));
  out.push_back(two("logaddexp", x, y, logaddexp));
  for (const int64_t n : {-3, -1, 0, 2, 5}) {
    out.push_back(call("integer_pow", {p}, [n](const Values& v) { return integer_pow(v[0], n); }));
  }
  out.push_back(call("clamp", {uniform(s, -1, 0, 3), x, uniform(s, 0, 1, 4)},
                     [](const Values& v) { return clamp(v[0], v[1], v[2]); }));
  out.push_back(
      call("select", {mask(s), x, y}, [](const Values& v) { return select(v[0], v[1], v[2]); }));
  out.push_back(
      call("select", {mask({}), x, y}, [](const Values& v) { return select(v[0], v[1], v[2]); }));
}

inline void add_logic(std::vector<OpSample>& out) {
  const Shape s = {3, 5};
  const HostTensor x = integers(s), y = integers(s, DType::kI32, -2, 3),
                   u = integers(s, DType::kU32, 0, 90);
  const HostTensor f = y.astype(DType::kF32), g = x.astype(DType::kBF16);
  out.push_back(two("eq", f, f, equal));
  out.push_back(two("ne", x, y, not_equal));
  out.push_back(two("lt", f, uniform(s), less));
  out.push_back(two("le", u, u, less_equal));
  out.push_back(two("gt", x, y, greater));
  out.push_back(two("ge", g, g, greater_equal));
  out.push_back(two("and", x, y, operator&));
  out.push_back(two("or", mask(s), predicate(s), operator|));
  out.push_back(two("xor", u, u, operator^));
  out.push_back(one("not", x, operator~));
  out.push_back(one("not", mask(s), logical_not));
  const HostTensor bits = integers(s, DType::kI32, 0, 40), ubits = integers(s, DType::kU32, 0, 40);
  out.push_back(two("shift_left", x, bits, shift_left));
  out.push_back(two("shift_right_logical", x, bits, shift_right_logical));
  out.push_back(two("shift_right_logical", u, ubits, shift_right_logical));
  out.push_back(two("shift_right_arithmetic", x, bits, shift_right_arithmetic));
  out.push_back(one("popcount", x, popcount));
  out.push_back(one("count_leading_zeros", u, count_leading_zeros));
}

inline void add_creation_and_conversion(std::vector<OpSample>& out) {
  const HostTensor x = uniform({2, 3}, -9, 9);
  out.push_back(call("full", {}, [](const Values&) { return full({2, 2}, 0.1, DType::kBF16); }));
  out.push_back(call(
      "full", {}, [](const Values&) { return full({}, std::numeric_limits<double>::infinity()); }));
  out.push_back(call("constant", {}, [](const Values&) {
    return constant(HostTensor({2, 2}, {1.5f, -2.f, 0.1f, 4.f}));
  }));
  out.push_back(call("constant", {}, [](const Values&) {
    return constant(HostTensor({3}, {true, false, true}));
  }));
  out.push_back(call("iota", {}, [](const Values&) { return iota({3, 2}, 1, DType::kF32); }));
  for (const DType dtype : {DType::kI32, DType::kBF16, DType::kF64, DType::kPred}) {
    out.push_back(call("convert", {x}, [dtype](const Values& v) { return astype(v[0], dtype); }));
  }
  out.push_back(
      call("convert", {mask({4})}, [](const Values& v) { return astype(v[0], DType::kF32); }));
  out.push_back(call("bitcast_convert", {x},
                     [](const Values& v) { return bitcast_convert(v[0], DType::kU32); }));
  for (const HostTensor& t : {integers({3, 2}), uniform({3, 2})}) {
    out.push_back(call("bitcast_convert", {t},
                       [](const Values& v) { return bitcast_convert(v[0], DType::kU8); }));
  }
  out.push_back(call("bitcast_convert", {integers({3, 2}, DType::kU32, 0, 90)},
                     [](const Values& v) { return bitcast_convert(v[0], DType::kU64); }));
  out.push_back(
      call("reduce_precision", {x}, [](const Values& v) { return reduce_precision(v[0], 8, 7); }));
  out.push_back(call("reduce_precision", {x.astype(DType::kF64)},
                     [](const Values& v) { return reduce_precision(v[0], 9, 30); }));
}

inline void add_movement(std::vector<OpSample>& out) {
  const HostTensor x = uniform({4, 5}), y = uniform({4, 2}, -1, 1, 7);
  out.push_back(call("broadcast_in_dim", {uniform({3, 1})}, [](const Values& v) {
    return broadcast_in_dim(v[0], {3, 2, 4}, {0, 2});
  }));
  out.push_back(call("reshape", {x}, [](const Values& v) { return reshape(v[0], {2, -1, 5}); }));
  out.push_back(call("transpose", {uniform({2, 3, 4})}, [](const Values& v) {
    return transpose(v[0], {2, 0, 1});
  }));
  out.push_back(call("reverse", {x}, [](const Values& v) { return reverse(v[0], {1}); }));
  out.push_back(call("slice", {x}, [](const Values& v) {
    return slice(v[0], {1, 0}, {4, 5}, {2, 3});
  }));
  out.push_back(call("pad", {x, uniform({})}, [](const Values& v) {
    return pad(v[0], v[1], {-1, 1}, {2, -2}, {1, 0});
  }));
  out.push_back(call("concatenate", {x, y}, [](const Values& v) {
    return concatenate({v[0], v[1], v[0]}, 1);
  }));
  const HostTensor i = HostTensor::scalar(int32_t{2}), j = HostTensor::scalar(int32_t{9});
  out.push_back(call("dynamic_slice", {x, i, j}, [](const Values& v) {
    return dynamic_slice(v[0], {v[1], v[2]}, {2, 3});
  }));
  out.push_back(call("dynamic_update_slice", {x, y, i, j}, [](const Values& v) {
    return dynamic_update_slice(v[0], v[1], {v[2], v[3]});
  }));
  const HostTensor ids({2, 3}, {0, 3, 3, 1, 0, 3});
  out.push_back(call("gather", {x, ids}, [](const Values& v) { return take(v[0], v[1], 0); }));
  out.push_back(call("gather", {x, HostTensor({4, 2}, {4, 0, 1, 1, 2, 3, 0, 0})},
                     [](const Values& v) { return take_along_axis(v[0], v[1], 1); }));
  out.push_back(call("scatter_add", {x, HostTensor({4, 2}, {4, 0, 1, 1, 2, 3, 0, 0}), y},
                     [](const Values& v) { return add_along_axis(v[0], v[1], v[2], 1); }));
  const GatherDims rows{.offset = {1}, .collapsed = {0}, .index_map = {0}, .index_vector_dim = 1};
  // Windows of two columns at positions of two components. The last two windows reach outside.
  const GatherDims pairs{
      .offset = {1}, .collapsed = {0}, .index_map = {0, 1}, .index_vector_dim = 1};
  const HostTensor positions({4, 2}, {0, 1, 3, 0, 2, 4, -1, 2});
  out.push_back(call("gather", {x, positions}, [pairs](const Values& v) {
    return gather(v[0], v[1], pairs, {1, 2});
  }));
  out.push_back(call("scatter_add", {x, positions, y},
                     [pairs](const Values& v) { return scatter_add(v[0], v[1], v[2], pairs); }));
  out.push_back(call("scatter", {x, HostTensor({2}, {3, 1}), uniform({2, 5}, -1, 1, 8)},
                     [rows](const Values& v) { return scatter(v[0], v[1], v[2], rows); }));
}

inline void add_reductions(std::vector<OpSample>& out) {
  const HostTensor x = uniform({3, 4, 2}), p = positive({3, 4});
  out.push_back(call("reduce_sum", {x}, [](const Values& v) { return reduce_sum(v[0], {0, 2}); }));
  out.push_back(
      call("reduce_max", {x}, [](const Values& v) { return reduce_max(v[0], {1}, true); }));
  out.push_back(call("reduce_max", {integers({3, 4})},
                     [](const Values& v) { return reduce_max(v[0], {1}); }));
  out.push_back(call("reduce_min", {x}, [](const Values& v) { return reduce_min(v[0], {0, 1}); }));
  out.push_back(call("reduce_prod", {x}, [](const Values& v) {
    return reduce_prod(v[0], {0, 2});
  }));
  out.push_back(
      call("reduce_and", {mask({3, 4})}, [](const Values& v) { return reduce_and(v[0], {1}); }));
  out.push_back(call("reduce_and", {integers({3, 4}, DType::kU32, 0, 90)},
                     [](const Values& v) { return reduce_and(v[0], {1}); }));
  out.push_back(
      call("reduce_or", {mask({3, 4})}, [](const Values& v) { return reduce_or(v[0], {1}); }));
  out.push_back(
      call("reduce_xor", {mask({3, 4})}, [](const Values& v) { return reduce_xor(v[0], {1}); }));
  out.push_back(call("reduce_xor", {integers({3, 4})},
                     [](const Values& v) { return reduce_xor(v[0], {0}, true); }));
  out.push_back(call("argmax", {x}, [](const Values& v) { return argmax(v[0], 1); }));
  out.push_back(
      call("argmin", {integers({3, 4})}, [](const Values& v) { return argmin(v[0], 0); }));
  for (const bool reversed : {false, true}) {
    out.push_back(
        call("cumsum", {x}, [reversed](const Values& v) { return cumsum(v[0], 1, reversed); }));
    out.push_back(
        call("cumprod", {p}, [reversed](const Values& v) { return cumprod(v[0], 1, reversed); }));
    out.push_back(
        call("cummax", {p}, [reversed](const Values& v) { return cummax(v[0], 1, reversed); }));
    out.push_back(
        call("cummin", {p}, [reversed](const Values& v) { return cummin(v[0], 0, reversed); }));
    out.push_back(call("cumlogsumexp", {p},
                       [reversed](const Values& v) { return cumlogsumexp(v[0], 1, reversed); }));
  }
  out.push_back(
      call("cumsum", {integers({3, 4})}, [](const Values& v) { return cumsum(v[0], 1); }));
  out.push_back(call("softmax", {x}, [](const Values& v) { return softmax(v[0], 1); }));
  out.push_back(call("log_softmax", {x}, [](const Values& v) { return log_softmax(v[0], -1); }));
  out.push_back(
      {"softmax_cross_entropy", {x, integers({3, 4}, DType::kI32, 0, 1.99)}, [](const Values& v) {
         const CrossEntropy r = softmax_cross_entropy(v[0], v[1]);
         return Values{r.loss, r.log_z};
       }});
  out.push_back(call("logsumexp", {x}, [](const Values& v) { return logsumexp(v[0], 1); }));
}

inline void add_sorts_and_products(std::vector<OpSample>& out) {
  const HostTensor x = uniform({3, 6}), y = uniform({3, 6}, -1, 1, 4);
  out.push_back(call("sort", {x}, [](const Values& v) { return sort(v[0], 0); }));
  out.push_back(
      call("sort", {x}, [](const Values& v) { return sort(v[0], -1, SortOrder::kDescending); }));
  out.push_back(
      call("sort", {x}, [](const Values& v) { return argsort(v[0], -1, SortOrder::kDescending); }));
  out.push_back({"sort", {integers({3, 6}, DType::kI32, 0, 3), x, y}, [](const Values& v) {
                   return sort_key_val(v, 1, 2);
                 }});
  out.push_back({"top_k", {x}, [](const Values& v) {
                   const auto [values, indices] = top_k(v[0], 3);
                   return Values{values, indices};
                 }});
  out.push_back(call("dot_general", {integers({4, 3}), integers({3, 2})},
                     [](const Values& v) { return dot(v[0], v[1]); }));
  out.push_back(call("dot_general", {uniform({4, 3}), uniform({3, 2}, -1, 1, 3)},
                     [](const Values& v) { return dot(v[0], v[1]); }));
  out.push_back(call("dot_general", {uniform({2, 3, 4}), uniform({2, 5, 4}, -1, 1, 3)},
                     [](const Values& v) { return einsum("btd,bsd->bts", v[0], v[1]); }));
  // Diagonals, broadcast dims and several operands of einsum.
  out.push_back(call("dot_general", {uniform({3, 3, 2}), uniform({2, 4}, -1, 1, 3)},
                     [](const Values& v) { return einsum("iij,jk->ik", v[0], v[1]); }));
  out.push_back(call("dot_general", {uniform({2, 1, 3, 4}), uniform({5, 4, 2}, -1, 1, 3)},
                     [](const Values& v) { return einsum("...ij,...jk", v[0], v[1]); }));
  out.push_back(call("dot_general",
                     {uniform({2, 3}), uniform({2, 4}, -1, 1, 3), uniform({3, 4, 2}, -1, 1, 4)},
                     [](const Values& v) { return einsum("...a,...b,abc->c...", v); }));
  const HostTensor left = uniform({2, 3, 4}), right = uniform({4, 3, 2, 2}, -1, 1, 3);
  const auto general = [&](const DotDims& dims) {
    out.push_back(call("dot_general", {left, right},
                       [dims](const Values& v) { return dot_general(v[0], v[1], dims); }));
  };
  general({.a_contracting = {2, 1}, .b_contracting = {0, 1}});
  general({.a_contracting = {1}, .b_contracting = {1}, .a_batch = {0}, .b_batch = {3}});
  general({.a_batch = {2, 0}, .b_batch = {0, 2}});
  for (const DotAlgorithm algorithm : {DotAlgorithm::kF32F32F32, DotAlgorithm::kTF32TF32F32X3}) {
    out.push_back(call("dot_general", {left, right}, [algorithm](const Values& v) {
      // The check of gradients passes f64 operands, which these algorithms do not take.
      return dot_general(astype(v[0], DType::kF32), astype(v[1], DType::kF32),
                         {.a_contracting = {2}, .b_contracting = {0}}, {.algorithm = algorithm});
    }));
  }
  for (const DType other : {DType::kF8E4M3FN, DType::kF8E5M2}) {
    const HostTensor e4m3 = integers({3, 4}).astype(DType::kF8E4M3FN),
                     others = integers({4, 2}, DType::kI32, -9, 9).astype(other);
    out.push_back(call("dot_general", {e4m3, others}, [](const Values& v) {
      return dot(v[0], v[1], {.result_dtype = DType::kF32});
    }));
  }
  out.push_back(
      call("dot_general", {integers({3, 4}, DType::kI8), integers({4, 2}, DType::kI8)},
           [](const Values& v) { return dot(v[0], v[1], {.result_dtype = DType::kI32}); }));
  // The second group is empty, and the last two rows belong to none.
  const HostTensor rows = uniform({9, 4}), group_sizes({3}, {3, 0, 4});
  out.push_back(call("ragged_dot", {rows, uniform({3, 4, 5}, -1, 1, 2), group_sizes},
                     [](const Values& v) { return ragged_dot(v[0], v[1], v[2]); }));
  out.push_back(call("ragged_dot_contracting", {rows, uniform({9, 5}, -1, 1, 2), group_sizes},
                     [](const Values& v) { return ragged_dot_contracting(v[0], v[1], v[2]); }));
}

// All pairs of two 4-bit integers: what wraps, and what compilers compute in a byte.
inline void add_four_bits(DType dtype, std::vector<OpSample>& out) {
  HostTensor a(Type{DType::kI32, {16, 16}}), b(a.type());
  for (int64_t i = 0; i < a.size(); ++i) {
    a.values<int32_t>()[i] = static_cast<int32_t>(i / 16);
    b.values<int32_t>()[i] = static_cast<int32_t>(i % 16);
  }
  const std::vector<HostTensor> pair = {a.astype(dtype), b.astype(dtype)};
  out.push_back({"add", pair, [](const Values& v) {
                   const Tensor &x = v[0], &y = v[1], sum = x + y, product = x * y;
                   return Values{sum,
                                 x - y,
                                 product,
                                 x / y,
                                 remainder(x, y),
                                 -x,
                                 product / y,
                                 maximum(sum, y),
                                 minimum(product, x),
                                 clamp(y, sum, product),
                                 square(sum),
                                 sum * 3};
                 }});
  out.push_back({"dot_general", pair, [](const Values& v) {
                   const Tensor sum = v[0] + v[1];
                   const DType byte = is_unsigned(sum.dtype()) ? DType::kU8 : DType::kI8,
                               word = is_unsigned(sum.dtype()) ? DType::kU32 : DType::kI32;
                   return Values{dot(v[0], sum), dot(sum, v[1], {.result_dtype = byte}),
                                 dot(sum, sum, {.result_dtype = word})};
                 }});
  out.push_back({"sign", pair, [](const Values& v) {
                   return Values{sign(v[0] - v[1]), abs(v[0] - v[1])};
                 }});
  out.push_back({"lt", pair, [](const Values& v) {
                   const Tensor &x = v[0], &y = v[1], sum = x + y;
                   return Values{sum<y, sum <= y, x * y> x, sum >= y, equal(sum, y),
                                 not_equal(x * 3, y), select(x - y > y, x * y, y)};
                 }});
  out.push_back({"convert", pair, [](const Values& v) {
                   const Tensor sum = v[0] + v[1];
                   const DType other = sum.dtype() == DType::kI4 ? DType::kU4 : DType::kI4;
                   const Tensor wide = astype(v[0], DType::kI32) * astype(v[1], DType::kI32),
                                real = astype(wide, DType::kF32);
                   return Values{astype(sum, DType::kI32),  astype(sum, DType::kF32),
                                 astype(sum, DType::kU8),   astype(sum, other),
                                 astype(sum, DType::kPred), astype(wide, sum.dtype()),
                                 astype(real, sum.dtype())};
                 }});
  out.push_back({"shift_left", pair, [](const Values& v) {
                   const Tensor &x = v[0], &n = v[1], sum = x + n;
                   return Values{shift_left(sum, n),
                                 shift_right_logical(sum, n),
                                 shift_right_arithmetic(sum, n),
                                 sum & n,
                                 sum | n,
                                 sum ^ n,
                                 ~sum,
                                 popcount(sum),
                                 count_leading_zeros(sum)};
                 }});
  out.push_back({"reduce_sum", pair, [](const Values& v) {
                   const Tensor x = v[0] * v[1];
                   const auto [largest, indices] = top_k(x, 3);
                   return Values{reduce_sum(x, {0}),
                                 reduce_prod(v[0] + v[1], {1}),
                                 reduce_max(x, {1}),
                                 reduce_min(x, {1}),
                                 reduce_and(x, {1}),
                                 reduce_or(x, {0}),
                                 reduce_xor(x, {1}),
                                 argmax(x, 1),
                                 argmin(x, 1),
                                 cumsum(x, 1),
                                 cumprod(v[0], 0),
                                 cummax(x, 1),
                                 sort(x, 1),
                                 largest,
                                 indices,
                                 mean(x)};
                 }});
}

inline void add_dtypes(std::vector<OpSample>& out) {
  const Shape s = {3, 5};
  // Different numbers that every float has, so that no maximum and no sort has ties.
  HostTensor powers = HostTensor::zeros(s), others = powers;
  for (int i = 0; i < 15; ++i) {
    powers.values<float>()[i] = std::ldexp(i % 2 ? -1.f : 1.f, i / 2 - 3);
    others.values<float>()[i] = std::ldexp(1.5f, i % 5 - 2);
  }
  for (const DType dtype : {DType::kI8, DType::kI16, DType::kU8, DType::kU16, DType::kF8E4M3FN,
                            DType::kF8E5M2, DType::kF16, DType::kBF16}) {
    const double low = is_unsigned(dtype) ? 0 : -40;
    const HostTensor x = is_float(dtype) ? powers.astype(dtype) : integers(s, dtype, low, 40);
    const HostTensor y = is_float(dtype) ? others.astype(dtype) : integers(s, dtype, 1, 9);
    out.push_back(two("add", x, y, operator+));
    out.push_back(two("mul", y, y, operator*));
    out.push_back(two("max", x, y, maximum));
    out.push_back(two("lt", x, y, less));
    out.push_back(call("reduce_sum", {y}, [](const Values& v) { return reduce_sum(v[0], {1}); }));
    out.push_back(call("reduce_max", {x}, [](const Values& v) { return reduce_max(v[0], {1}); }));
    out.push_back(call("cummin", {x}, [](const Values& v) { return cummin(v[0], 1); }));
    out.push_back(call("cumsum", {y}, [](const Values& v) { return cumsum(v[0], 1); }));
    out.push_back(call("sort", {x}, [](const Values& v) { return sort(v[0], 1); }));
    out.push_back(call("pad", {x}, [](const Values& v) { return pad(v[0], 1, {1, 0}, {0, 2}); }));
  }
  for (const DType dtype :
       {DType::kI4, DType::kI8, DType::kI16, DType::kI64, DType::kU4, DType::kU8, DType::kU16,
        DType::kU32, DType::kU64, DType::kF8E4M3FN, DType::kF8E5M2, DType::kF16}) {
    const HostTensor x = uniform(s, is_unsigned(dtype) ? 0 : -7, 7);
    out.push_back(call("convert", {x}, [dtype](const Values& v) {
      return astype(transpose(astype(v[0], dtype), {1, 0}), DType::kF32);
    }));
  }
  for (const DType dtype : {DType::kI4, DType::kU4}) {
    add_four_bits(dtype, out);
    out.push_back(call("transpose", {integers(s, dtype, is_unsigned(dtype) ? 0 : -8, 7.99)},
                       [](const Values& v) {
                         return transpose(v[0], {1, 0});
                       }));
  }
}

inline void add_annotations(std::vector<OpSample>& out) {
  const HostTensor x = uniform({4, 2});
  out.push_back(call("name", {x}, [](const Values& v) { return name(v[0], "tag"); }));
  out.push_back(call("stop_gradient", {x}, [](const Values& v) { return stop_gradient(v[0]); }));
  out.push_back(call("tap", {x}, [](const Values& v) { return tap("x", v[0]); }));
  out.push_back(call("tap_gradient", {x}, [](const Values& v) { return tap_gradient("x", v[0]); }));
  out.push_back(call("place", {x}, [](const Values& v) { return place(v[0], Memory::kHost); }));
  out.push_back(call("sharding_constraint", {x}, [](const Values& v) {
    return sharding_constraint(v[0], {{{"data"}, {}}});
  }));
  out.push_back({"optimization_barrier", {x, integers({2})}, [](const Values& v) {
                   return optimization_barrier(v);
                 }});
  const HostTensor words = integers({5}, DType::kU32, 0, 90);
  out.push_back({"threefry2x32", {words, words}, [](const Values& v) {
                   const Tensor k = scalar(7, DType::kU32);
                   const auto [a, b] = threefry2x32(k, k + 1, v[0], v[1]);
                   return Values{a, b};
                 }});
  const HostTensor key = integers({4}, DType::kU32, 0, 90);
  for (const DType dtype : {DType::kU32, DType::kU64}) {
    out.push_back(call("rng_bit_generator", {key}, [dtype](const Values& v) {
      return rng_bit_generator(v[0], {3, 5}, dtype);
    }));
  }
}

}  // namespace samples

/// Returns samples of all ops without regions.
inline std::vector<OpSample> op_samples() {
  std::vector<OpSample> out;
  samples::add_elementwise(out);
  samples::add_logic(out);
  samples::add_creation_and_conversion(out);
  samples::add_movement(out);
  samples::add_gather_modes(out);
  samples::add_scatters(out);
  samples::add_float_order(out);
  samples::add_index_composites(out);
  samples::add_reductions(out);
  samples::add_sorts_and_products(out);
  samples::add_windows(out);
  samples::add_convolutions(out);
  samples::add_dtypes(out);
  samples::add_annotations(out);
  samples::add_complex(out);
  samples::add_linalg(out);
  return out;
}

}  // namespace axle::testing
