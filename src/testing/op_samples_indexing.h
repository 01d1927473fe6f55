// Samples of gather and scatter in all modes, of what is made of them, and of ops on the bits of
// floats.
#pragma once

#include "testing/op_sample.h"

namespace axle::testing::samples {

// Windows of two columns at positions of two components.
inline const GatherDims kPairs{
    .offset = {1}, .collapsed = {0}, .index_map = {0, 1}, .index_vector_dim = 1};

inline void add_gather_modes(std::vector<OpSample>& out) {
  const HostTensor x = uniform({4, 5}), outside({4, 2}, {0, 1, 3, 0, 2, 4, -1, 3}),
                   sorted({3, 2}, {0, 1, 0, 3, 2, 0});
  const auto pairs = [&](const HostTensor& at, const GatherOptions& options) {
    out.push_back(call("gather", {x, at}, [options](const Values& v) {
      return gather(v[0], v[1], kPairs, {1, 2}, options);
    }));
  };
  pairs(outside, {.mode = GatherMode::kFill, .fill = 0.5});
  pairs(outside, {.unique_indices = true});
  pairs(sorted, {.mode = GatherMode::kPromiseInBounds, .indices_are_sorted = true});
  pairs(sorted, {.mode = GatherMode::kPromiseInBounds, .unique_indices = true});
  const HostTensor ids({2, 3}, {0, 3, -5, 1, 4, -1});
  for (const DType dtype : {DType::kI8, DType::kU32, DType::kPred}) {
    out.push_back(call("gather", {integers({4, 2}, dtype, 0, 90), ids}, [](const Values& v) {
      return take(v[0], from_end(v[1], 4), 0, {.mode = GatherMode::kFill});
    }));
  }
}

inline void add_scatters(std::vector<OpSample>& out) {
  using Scatter = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const GatherDims&,
                             const ScatterOptions&);
  const std::pair<const char*, Scatter> combining[] = {{"scatter_add", scatter_add},
                                                       {"scatter_mul", scatter_mul},
                                                       {"scatter_min", scatter_min},
                                                       {"scatter_max", scatter_max}};
  const HostTensor x = uniform({4, 5}), y = uniform({4, 2}, -1, 1, 7), few = uniform({3, 2});
  const HostTensor outside({4, 2}, {0, 1, 3, 0, 2, 4, -1, 3}), sorted({3, 2}, {0, 1, 0, 3, 2, 0}),
      overlapping({4, 2}, {1, 1, 1, 2, 1, 1, 3, 5});
  const auto pairs = [&](const char* op, Scatter f, const HostTensor& at, const HostTensor& updates,
                         const ScatterOptions& options) {
    out.push_back(call(op, {x, at, updates}, [f, options](const Values& v) {
      return f(v[0], v[1], v[2], kPairs, options);
    }));
  };
  for (const auto& [op, f] : combining) {
    pairs(op, f, outside, y, {});
    pairs(op, f, overlapping, y, {});
    pairs(op, f, overlapping, y, {.mode = ScatterMode::kClip});
    pairs(op, f, sorted, few, {.indices_are_sorted = true, .unique_indices = true});
    pairs(op, f, sorted, few, {.mode = ScatterMode::kPromiseInBounds, .indices_are_sorted = true});
    out.push_back(call(op, {integers({4, 5}), overlapping, integers({4, 2}, DType::kI32, -9, 9)},
                       [f](const Values& v) { return f(v[0], v[1], v[2], kPairs, {}); }));
    out.push_back(call(op, {mask({4, 5}), overlapping, predicate({4, 2})},
                       [f](const Values& v) { return f(v[0], v[1], v[2], kPairs, {}); }));
  }
  pairs("scatter", scatter, outside, y, {.unique_indices = true});
  pairs("scatter", scatter, outside, y, {.mode = ScatterMode::kClip});
  pairs("scatter", scatter, sorted, few, {.mode = ScatterMode::kPromiseInBounds});
  const HostTensor columns({2, 2}, {4, 0, 9, 2});
  out.push_back(call("scatter", {x, columns, uniform({4, 2, 2})},
                     [](const Values& v) { return set_at(v[0], v[1], v[2], 1); }));
  out.push_back(call("scatter", {x, HostTensor({4, 2}, {4, 0, 1, 2, 2, 3, 0, 7}), y},
                     [](const Values& v) { return set_along_axis(v[0], v[1], v[2]); }));
  const HostTensor rows({3}, {1, 1, 0}), factors({3}, {0.f, 3.f, 2.f});
  out.push_back(call("scatter_mul", {positive({2}), rows, positive({3})},
                     [](const Values& v) { return multiply_at(v[0], v[1], v[2]); }));
  const HostTensor same({4}, {1, 1, 0, 1});
  for (const HostTensor& zeros :
       {HostTensor({4}, {0.f, 3.f, 2.f, 5.f}), HostTensor({4}, {0.f, 3.f, 0.f, 0.f})}) {
    out.push_back(call("scatter_mul", {positive({2}), same, zeros},
                       [](const Values& v) { return multiply_at(v[0], v[1], v[2]); }));
  }
  out.push_back(call("scatter_max", {positive({2}), rows, factors},
                     [](const Values& v) { return max_at(v[0], v[1], v[2]); }));
  out.push_back(call("scatter_min", {positive({2}), rows, factors},
                     [](const Values& v) { return min_at(v[0], v[1], v[2]); }));
  out.push_back(call("scatter_add", {positive({2}), rows, factors},
                     [](const Values& v) { return add_at(v[0], v[1], v[2]); }));
}

inline void add_float_order(std::vector<OpSample>& out) {
  const float inf = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  const HostTensor x({9}, {-nan, -inf, -1.f, -0.f, 0.f, 1e-3f, 1.f, inf, nan});
  const HostTensor columns = x.reshaped({9, 1});
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kI32}) {
    const HostTensor a = dtype == DType::kI32 ? integers({9}) : x.astype(dtype);
    const HostTensor b = dtype == DType::kI32 ? integers({9, 1}) : columns.astype(dtype);
    out.push_back(two("total_eq", a, b, total_equal));
    out.push_back(two("total_lt", a, b, total_less));
    out.push_back(two("total_le", a, b, total_less_equal));
  }
  // Results are compared as bits: neighbours differ by less than any tolerance.
  const auto bits_of_next = [](DType bits) {
    return [bits](const Values& v) { return bitcast_convert(nextafter(v[0], v[1]), bits); };
  };
  const HostTensor to({9}, {0.f, -1.f, nan, 1.f, -1.f, 0.f, 1.f, 0.f, 0.f});
  const std::pair<DType, DType> bits[] = {{DType::kF64, DType::kU64},
                                          {DType::kF32, DType::kU32},
                                          {DType::kBF16, DType::kU16},
                                          {DType::kF16, DType::kU16}};
  for (const auto& [dtype, unsigned_dtype] : bits) {
    out.push_back(
        call("nextafter", {x.astype(dtype), to.astype(dtype)}, bits_of_next(unsigned_dtype)));
  }
}

// Functions of other ops, named by one that they use.
inline void add_index_composites(std::vector<OpSample>& out) {
  const HostTensor x = uniform({3, 4}), keys = integers({7}, DType::kI32, 0, 4);
  out.push_back(call("slice", {x}, [](const Values& v) { return roll(v[0], -3, 1); }));
  out.push_back(call("slice", {x}, [](const Values& v) { return diagonal(v[0], 1); }));
  out.push_back(call("pad", {x}, [](const Values& v) { return diagonal_matrix(v[0], -1); }));
  out.push_back(
      call("select", {x}, [](const Values& v) { return tril(v[0]) + 2 * triu(v[0], 1); }));
  out.push_back(
      call("mul", {x, uniform({2, 2})}, [](const Values& v) { return kron(v[0], v[1]); }));
  out.push_back(call("dynamic_slice", {x, HostTensor::scalar(int32_t{2})},
                     [](const Values& v) { return dynamic_roll(v[0], v[1], 1); }));
  for (const QuantileMethod method :
       {QuantileMethod::kLinear, QuantileMethod::kMidpoint, QuantileMethod::kInvertedCdf}) {
    out.push_back(call("sort", {x}, [method](const Values& v) {
      return quantile(v[0], constant(HostTensor({2}, {0.3f, 0.8f})), 1, method);
    }));
  }
  out.push_back(call("select", {keys.reshaped({7, 1}), uniform({7, 2}), uniform({7, 2})},
                     [](const Values& v) {
                       const Tensor which = broadcast_to(v[0], v[1].shape());
                       return select_n(which, {v[1], v[2], v[1] * v[2]});
                     }));
  out.push_back({"gather",
                 {HostTensor({6}, {-1.f, -0.5f, 0.f, 0.f, 0.5f, 1.5f}), uniform({5})},
                 [](const Values& v) {
                   return Values{searchsorted(v[0], v[1]),
                                 searchsorted(v[0], v[1], SearchSide::kRight),
                                 digitize(v[1], v[0])};
                 }});
  out.push_back({"scatter_add", {keys, uniform({7})}, [](const Values& v) {
                   return Values{bincount(v[0], 3), bincount(v[0], v[1], 5)};
                 }});
  out.push_back({"scatter", {keys}, [](const Values& v) {
                   const Unique u = unique(v[0], 4, -1);
                   Values y = nonzero(v[0], 6, -1);
                   y.insert(y.end(), {u.values, u.first_indices, u.inverse, u.counts});
                   return y;
                 }});
}

}  // namespace axle::testing::samples
