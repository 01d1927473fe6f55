// Samples of gather and scatter in all modes.
#pragma once

#include "testing/op_sample.h"

namespace axle::testing::samples {

// Windows of two columns at positions of two components.
inline const WindowDims kPairs{
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
  using Scatter = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const WindowDims&,
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
  out.push_back(call("scatter_max", {positive({2}), rows, factors},
                     [](const Values& v) { return max_at(v[0], v[1], v[2]); }));
  out.push_back(call("scatter_min", {positive({2}), rows, factors},
                     [](const Values& v) { return min_at(v[0], v[1], v[2]); }));
  out.push_back(call("scatter_add", {positive({2}), rows, factors},
                     [](const Values& v) { return add_at(v[0], v[1], v[2]); }));
}

}  // namespace axle::testing::samples
