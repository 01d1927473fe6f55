#include "train/finite_state.h"

#include <algorithm>
#include <map>

#include "ops/bitwise.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/reduce.h"
#include "ops/rounding.h"

namespace axle {
namespace {

constexpr std::string_view kLearner = "learner/";

// The parameter that a leaf of the learner is kept beside; else the leaf itself.
std::string part_of(const std::string& leaf, const std::vector<ProgramValue>& state) {
  if (!leaf.starts_with(kLearner)) return leaf;
  for (const ProgramValue& parameter : state) {
    if (!parameter.name.starts_with(kLearner) && leaf.ends_with("/" + parameter.name))
      return parameter.name;
  }
  return leaf;
}

}  // namespace

FiniteState::FiniteState(const std::vector<ProgramValue>& state) {
  std::map<std::string, std::vector<std::string>> parts;
  for (const ProgramValue& leaf : state) {
    if (is_float(leaf.type.dtype)) parts[part_of(leaf.name, state)].push_back(leaf.name);
  }
  for (auto& [name, leaves] : parts) {
    parts_.push_back(name);
    leaves_.push_back(std::move(leaves));
  }
}

Tensor FiniteState::first_not_finite(const Tree<Tensor>& state) const {
  Tensor first = scalar(-1, DType::kI32);
  for (size_t i = parts_.size(); i-- > 0;) {
    // Leaves of one shape are reduced as one: they are read together where they are made.
    std::map<Shape, Tensor> by_shape;
    for (const std::string& leaf : leaves_[i]) {
      const Tensor& value = state.at(leaf);
      const Tensor finite = is_finite(value);
      auto [it, fresh] = by_shape.try_emplace(value.type().dims, finite);
      if (!fresh) it->second = it->second & finite;
    }
    for (const auto& [shape, finite] : by_shape) {
      const Tensor all = reduce_and(finite, all_axes(finite));
      first = select(all, first, scalar(static_cast<double>(i), DType::kI32));
    }
  }
  return first;
}

}  // namespace axle
