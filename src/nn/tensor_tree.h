// The tensors inside arguments and results of layers, in a fixed order.
#pragma once

#include <optional>
#include <vector>

#include "base/tree.h"
#include "ir/tensor.h"

namespace axle {

/// Calls fn(Tensor&) for each tensor in `value`: a Tensor, an optional, vector or Tree of such, or
/// a struct with a member template `each_tensor(fn)`.
template <class F>
void each_tensor(Tensor& value, F&& fn) {
  if (value) fn(value);
}
template <class T, class F>
void each_tensor(std::optional<T>& value, F&& fn) {
  if (value) each_tensor(*value, fn);
}
template <class T, class F>
void each_tensor(std::vector<T>& value, F&& fn) {
  for (T& v : value) each_tensor(v, fn);
}
template <class T, class F>
void each_tensor(Tree<T>& value, F&& fn) {
  for (auto& [path, v] : value) each_tensor(v, fn);
}
template <class T, class F>
requires requires(T& v, F& fn) { v.each_tensor(fn); }
void each_tensor(T& value, F&& fn) { value.each_tensor(fn); }

/// All tensors of `value`.
template <class T>
Values tensors_of(T& value) {
  Values out;
  each_tensor(value, [&](Tensor& t) { out.push_back(t); });
  return out;
}

/// Replaces the tensors of `value`, in order, by those from `at` on, which is moved past them.
template <class T>
void replace_tensors(T& value, Values::const_iterator& at) {
  each_tensor(value, [&](Tensor& t) { t = *at++; });
}

}  // namespace axle
