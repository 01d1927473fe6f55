#include "train/program/non_finite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/process_start.h"
#include "checkpoint/restore.h"
#include "ir/host_tensor.h"
#include "lower/stablehlo.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"
#include "transform/simplify.h"
#include "transform/taps/taps.h"

namespace axle {
namespace {

constexpr std::string_view kLearner = "learner/";

// Returns the parameter that a leaf of the learner belongs to; else the leaf itself.
std::string group_of(const std::string& leaf, const std::vector<ProgramValue>& state) {
  if (!leaf.starts_with(kLearner)) return leaf;
  for (const ProgramValue& parameter : state) {
    if (!parameter.name.starts_with(kLearner) && leaf.ends_with("/" + parameter.name))
      return parameter.name;
  }
  return leaf;
}

}  // namespace

FiniteState::FiniteState(const std::vector<ProgramValue>& state) {
  std::map<std::string, std::vector<std::string>> groups;
  for (const ProgramValue& leaf : state) {
    if (is_float(leaf.type.dtype)) groups[group_of(leaf.name, state)].push_back(leaf.name);
  }
  for (auto& [name, leaves] : groups) {
    groups_.push_back(name);
    leaves_.push_back(std::move(leaves));
  }
}

// Takes one minimum over the indices of bad groups, element by element. Devices that hold shards of
// the state then agree on the result in one small collective, whatever the number of groups.
Tensor FiniteState::first_non_finite(const Tree<Tensor>& state) const {
  const NameScope scope("finite");
  const auto number = [](size_t n) { return scalar(static_cast<double>(n), DType::kI32); };
  const Tensor none = number(groups_.size());
  Tensor first = none;
  for (size_t i = 0; i < groups_.size(); ++i) {
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

NonFiniteStep non_finite_step(const StepRecord& record, int64_t group, bool is_first,
                              const DeviceState& state, const std::filesystem::path& checkpoints) {
  const double loss = record.values.at("loss"), norm = record.values.at("grad_norm");
  const bool is_kept = !std::isfinite(loss) || !std::isfinite(norm);
  std::optional<std::string> leaf;
  if (is_first) leaf = is_kept ? first_non_finite(state) : first_non_finite(checkpoints);
  if (leaf) {
    return {fmt::format("NaN or infinity in {} before this step; no later step repairs it", *leaf),
            /*is_permanent=*/true};
  }
  if (is_kept) return {fmt::format("loss {} and gradient norm {}", loss, norm)};
  const auto rate = record.values.find("learning_rate");  // groups have rates of their own
  return {
      fmt::format(
          "{} or its learner state after the update{}",
          FiniteState(state.leaves).groups().at(static_cast<size_t>(group)),
          rate == record.values.end() ? "" : fmt::format(", with learning rate {}", rate->second)),
      /*is_permanent=*/true};
}

NonFiniteFinder::NonFiniteFinder(const Program& step, Runtime& runtime, CompileOptions options)
    : step_(step), runtime_(runtime), options_(std::move(options)) {
  const auto is_donated = [](const ProgramValue& input) { return input.donated_to >= 0; };
  AXLE_CHECK(std::ranges::none_of(step_.inputs, is_donated), "a step that donates its arguments");
}

void NonFiniteFinder::report(int64_t step, bool is_saved,
                             const std::function<void(const std::string&)>& note) const {
  std::optional<EndAtOnce> end;
  if (is_saved) end.emplace("\nstopped by a signal before the op was found; the state is saved\n");
  note(fmt::format("step {}: not finite; searching for the op that made the first NaN or infinity",
                   step));
  note(fmt::format("step {}: {}", step, find()));
}

std::string NonFiniteFinder::find() const {
  const RunRegion run = [&](const std::shared_ptr<const Region>& region) {
    std::vector<ProgramValue> outputs;
    for (const Tensor& t : region->results())
      outputs.push_back({fmt::format("value/{}", outputs.size()), t.type()});
    const Program program =
        lower(simplify(*region), "find_nan", step_.inputs, std::move(outputs), step_.mesh);
    std::vector<HostTensor> out;
    for (const ArrayPtr& y : runtime_.compile(program, options_)->execute(arguments_))
      out.push_back(y->to_host());
    return out;
  };
  try {
    const auto origin = find_non_finite(*step_.graph, run);
    return origin ? to_text(*origin)
                  : "no op was found: all numbers were finite when the step ran once more";
  } catch (const Error& error) {
    return fmt::format("no op was found, since the search failed: {}", error.what());
  }
}

}  // namespace axle
