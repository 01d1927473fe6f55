#include "modifiers/trial_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "config/walk.h"
#include "modifiers/modifier.h"
#include "nn/functional.h"
#include "nn/init_rules.h"
#include "transform/trace.h"

namespace axle {
namespace {

const Scope kModelScope{.path = "model"};

// Rows for any usual number of microbatches, and positions for any usual chunk.
constexpr int64_t kNumRows = 64, kNumPositions = 128;

}  // namespace

const Child<Model>* find_model(const Slot& root) {
  if (*root.ops->type == typeid(Child<Model>)) return static_cast<const Child<Model>*>(root.at);
  for (const Slot& field : children_of(root)) {
    if (field.name == "model" && *field.ops->type == typeid(Child<Model>))
      return static_cast<const Child<Model>*>(field.at);
  }
  return nullptr;
}

std::vector<std::string> mistakes_of(const Child<Model>& model) {
  try {
    model.build({}, kModelScope);
    return {};
  } catch (const ConfigError& error) {
    std::vector<std::string> out;
    for (const std::string_view line : split(error.what(), '\n')) out.emplace_back(line);
    return out;
  }
}

void check_patterns_of_parameters(const Child<Model>& model,
                                  const std::vector<ParameterPattern>& patterns) {
  if (patterns.empty() || !mistakes_of(model).empty()) return;
  const Tree<ParamSpec> params = model.build({}, kModelScope)->param_specs();
  for (const ParameterPattern& one : patterns) {
    const bool is_used = std::ranges::any_of(
        params, [&](const auto& param) { return matches_path(one.pattern, param.first); });
    if (is_used) continue;
    throw NoMatch(fmt::format("{}: expected the path of a parameter, got '{}', which matches none",
                              one.where, one.pattern));
  }
}

ModelTrial::ModelTrial(const Child<Model>* model) : model_(model) {
  if (model_) before_ = mistakes_of(*model_);
}

std::vector<std::string> ModelTrial::refusals(const Slot& slot,
                                              const std::function<void()>& change) const {
  const AnyConfig old = *held_config(slot);
  change();
  if (!model_) return {};
  std::vector<std::string> out = mistakes_of(*model_);
  std::erase_if(out,
                [&](const std::string& line) { return std::ranges::count(before_, line) > 0; });
  if (!out.empty()) put_config(slot, old);
  return out;
}

Tree<WeightUseSite> weights_outside_products(const Child<Model>& config) {
  const std::unique_ptr<Model> model = config.build({}, kModelScope);
  std::vector<std::string> parameters, states;
  std::vector<Type> types;
  for (const auto& [specs, paths] :
       {std::pair(model->param_specs(), &parameters), std::pair(model->state_specs(), &states)}) {
    for (const auto& [path, spec] : specs) {
      paths->push_back(path);
      types.push_back(spec.type());
    }
  }
  const int64_t length = std::min(model->max_seq_len().value_or(kNumPositions), kNumPositions);
  const Type tokens{DType::kI32, {kNumRows, length}};
  types.insert(types.end(), {tokens, tokens});
  const auto call = trace(
      [&](const Values& x) {
        auto next = x.begin();
        const auto take = [&next](const std::vector<std::string>& paths) {
          Tree<Tensor> out;
          for (const std::string& path : paths) out.emplace(path, *next++);
          return out;
        };
        Tree<Tensor> weights = take(parameters), state = take(states);
        const Tree<Tensor> batch = take({"input_ids", "target_labels"});
        InvocationOptions options{.training = true, .key = random::random_key(0)};
        options.state = std::move(state);
        const auto [output, collected] = functional(*model, std::move(weights), std::move(options),
                                                    [&] { return (*model)(batch); });
        return Values{output.loss};
      },
      types);
  return weights_outside_products(*model, *call, parameters);
}

}  // namespace axle
