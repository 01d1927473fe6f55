#include "train/finite/finite_state.h"

#include <map>

#include "checkpoint/restore.h"
#include "ir/host_tensor.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/rounding.h"
#include "ops/reductions/reduce.h"

namespace axle {
namespace {

constexpr std::string_view kLearner = "learner/";

// Returns the parameter that a leaf of the learner belongs to; else the leaf itself.
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

// Takes one minimum over the indices of bad parts, element by element. Devices that hold shards of
// the state then agree on the result in one small collective, whatever the number of parts.
Tensor FiniteState::first_non_finite(const Tree<Tensor>& state) const {
  const NameScope scope("finite");
  const auto number = [](size_t n) { return scalar(static_cast<double>(n), DType::kI32); };
  const Tensor none = number(parts_.size());
  Tensor first = none;
  for (size_t i = 0; i < parts_.size(); ++i) {
    // Leaves of the same shape are combined first, so that the compiler can read them in the loop
    // that computes them.
    std::map<Shape, Tensor> finite;
    for (const std::string& leaf : leaves_[i]) {
      const Tensor own = is_finite(state.at(leaf));
      auto [it, fresh] = finite.try_emplace(own.type().dims, own);
      if (!fresh) it->second = it->second & own;
    }
    for (const auto& [shape, all] : finite)
      first = minimum(first, reduce_min(select(all, none, number(i)), all_axes(all)));
  }
  return select(less(first, none), first, scalar(-1, DType::kI32));
}

std::optional<std::string> first_non_finite(const DeviceState& state) {
  for (size_t i = 0; i < state.leaves.size(); ++i) {
    const bool can_be = is_float(state.leaves[i].type.dtype);
    if (can_be && !all_finite(state.arrays[i]->to_host())) return state.leaves[i].name;
  }
  return std::nullopt;
}

std::optional<std::string> first_non_finite(const std::filesystem::path& checkpoints) {
  std::optional<std::string> out;
  const auto begin = [&](const Manifest&) -> TensorSink {
    out.reset();
    return [&](const std::string& path, const HostTensor& value) {
      if (!out && !all_finite(value)) out = path;
    };
  };
  restore_newest(checkpoints, begin);
  return out;
}

}  // namespace axle
