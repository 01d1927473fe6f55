// Visits the tensors inside arguments and results of layers, in a fixed order.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/tree.h"
#include "ir/tensor.h"

namespace axle {

/// Calls fn(Tensor&) for each tensor in `value`: a Tensor, or an optional, vector or Tree of such
/// values, or a struct with a member template `each_field(fn)`. each_field calls fn(name, field)
/// for each field; if the name is empty, the parts of the field count as fields of the struct.
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
template <class T>
concept HasFields = requires(T& v) {
  v.each_field([](std::string_view, auto&) {});
};
template <HasFields T, class F>
void each_tensor(T& value, F&& fn) {
  value.each_field([&](std::string_view, auto& field) { each_tensor(field, fn); });
}

/// Returns all tensors of `value`.
template <class T>
Values tensors_of(T& value) {
  Values out;
  each_tensor(value, [&](Tensor& t) { out.push_back(t); });
  return out;
}

/// Tensors with their names inside a result, made of field names, tree paths and vector indices.
/// The name is empty for a Tensor that is the whole result.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

inline void add_named(const Tensor& value, const std::string& name, NamedTensors& out) {
  if (value) out.emplace_back(name, value);
}
template <class T>
void add_named(std::optional<T>& value, const std::string& name, NamedTensors& out) {
  if (value) add_named(*value, name, out);
}
template <class T>
void add_named(std::vector<T>& value, const std::string& name, NamedTensors& out) {
  for (size_t i = 0; i < value.size(); ++i)
    add_named(value[i], join_path(name, std::to_string(i)), out);
}
template <class T>
void add_named(Tree<T>& value, const std::string& name, NamedTensors& out) {
  for (auto& [path, v] : value) add_named(v, join_path(name, path), out);
}
template <HasFields T>
void add_named(T& value, const std::string& name, NamedTensors& out) {
  value.each_field([&](std::string_view field_name, auto& field) {
    add_named(field, join_path(name, field_name), out);
  });
}
/// Returns all tensors of `value` with their names, in the order of tensors_of.
template <class T>
NamedTensors named_tensors_of(T& value) {
  NamedTensors out;
  add_named(value, {}, out);
  return out;
}

/// Replaces the tensors of `value`, in order, by those from `at` on, and advances `at` past them.
template <class T>
void replace_tensors(T& value, Values::const_iterator& at) {
  each_tensor(value, [&](Tensor& t) { t = *at++; });
}

}  // namespace axle
