#include "inspect/eval_layer/eval_subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "config/document/serialize.h"
#include "config/missing.h"
#include "config/registry.h"
#include "inspect/eval_layer/eval_function.h"
#include "inspect/eval_layer/eval_learner.h"
#include "inspect/eval_layer/eval_training.h"
#include "inspect/eval_layer/layer_file.h"
#include "io/file.h"
#include "io/user_path.h"
#include "recipes/recipe.h"
#include "recipes/resolve/resolve.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;
using ActivationSignature = Tensor(const Tensor&);
using ScheduleSignature = Tensor(const Step&);

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;  // clang before 17 does not deduce it

// Throws for keys other than `class` and `config`: only layers have others.
void check_subject_keys(const Json& document) {
  for (const auto& [key, unused] : document.items()) {
    if (key != "class" && key != "config")
      throw ConfigError(
          fmt::format("{}: only a layer has this key (keys here: class, config)", key));
  }
}

// Parses a subject that is not a layer. It has neither dims nor options.
EvalSubject parse_class(const Json& document, const std::string& name) {
  check_subject_keys(document);
  if (const AnyFunction function = find_function(typeid(ActivationSignature), name)) {
    if (document.contains("config"))
      throw ConfigError(
          fmt::format("config: expected none, because the function {} has no fields", name));
    return Activation(name, reinterpret_cast<ActivationSignature*>(function));
  }
  AnyConfig config = config_from_json(document, "config");
  check_complete(config, "config");
  const ConfigType& type = config.type();
  if (type.signature && *type.signature == typeid(ScheduleSignature)) {
    Schedule out;
    out.put_as(typeid(ScheduleSignature), std::move(config));
    return out;
  }
  if (type.signature && *type.signature == typeid(ActivationSignature)) {
    Activation out;
    out.put_as(typeid(ActivationSignature), std::move(config));
    return out;
  }
  if (type.role == &role_info<Learner>()) {
    Child<Learner> out;
    out.put(std::move(config));
    return out;
  }
  if (type.role == &role_info<Optimizer>()) {
    Learner::Config out;
    out.norms = NormMetrics::kAll;
    out.optimizer.put(std::move(config));
    return Child<Learner>(std::move(out));
  }
  throw ConfigError(fmt::format(
      "class: expected a layer, a schedule or activation, an optimizer or a learner, got {}",
      type.name));
}

bool is_layer(const std::string& name) {
  if (find_function(typeid(ActivationSignature), name)) return false;
  const ConfigType& type = find_config_type(name);
  return type.role && type.role->dims && derives_from(*type.role->type, typeid(Layer));
}

// True if the document changes a recipe. Otherwise it holds fields of a trainer, and not
// necessarily all of them.
bool is_recipe_file(const Json& document) {
  return std::ranges::any_of(std::array{"recipe", "replace", "modify", "set"},
                             [&](const char* section) { return document.contains(section); });
}

void refuse(std::string_view flag, bool is_set, std::string_view kind) {
  if (is_set) throw ConfigError(fmt::format("{}: not for {}", flag, kind));
}

}  // namespace

EvalSubject parse_eval_subject(std::string_view text, const std::string& source,
                               ResolveReport* changes) {
  YamlLines lines;
  const Json document = parse_yaml(text, source, &lines);
  if (!document.is_object() || document.empty()) {
    throw ConfigError(source +
                      ": expected {class: Name, config: {...}}, {model: {...}, learner: {...}} or "
                      "{recipe: NAME}");
  }
  if (is_recipe_file(document)) {
    Resolved resolved =
        resolve_config({.files = {recipe_file_from(document, std::move(lines), source)}});
    if (changes) *changes = std::move(resolved.report);
    return std::move(resolved.config);
  }
  try {
    if (!document.contains("class")) {
      Trainer::Config config;
      from_json(config, document);
      return config;
    }
    if (!document["class"].is_string())
      throw ConfigError("class: expected a name, got " + document["class"].dump());
    const std::string name = document["class"].get<std::string>();
    if (!is_layer(name)) return parse_class(document, name);
  } catch (const ConfigError& error) {
    throw ConfigError(source + ": " + error.what());
  }
  return read_layer_file(document, source);
}

EvalSubject read_eval_subject(const std::string& file_or_recipe, ResolveReport* changes) {
  const std::vector<std::string> recipes = recipe_names();
  if (!path_exists(file_or_recipe)) {
    if (std::ranges::count(recipes, file_or_recipe)) return recipe(file_or_recipe);
    if (const std::string found = nothing_at(file_or_recipe); found != kNothingThere) {
      throw ConfigError(
          fmt::format("{}: expected a file or a recipe, got {}", file_or_recipe, found));
    }
    throw ConfigError(fmt::format("{}: expected a file or a recipe, got nothing of that name{}",
                                  file_or_recipe, suggest(file_or_recipe, recipes)));
  }
  return parse_eval_subject(read_user_file(file_or_recipe), file_or_recipe, changes);
}

std::string_view kind_of(const EvalSubject& subject) {
  constexpr std::string_view kKinds[] = {"a layer", "a schedule", "an activation", "a learner",
                                         "a training run"};
  return kKinds[subject.index()];
}

InputSections input_sections(const EvalSubject& subject, bool grad) {
  static const InputSections kAll[] = {
      {.read = {"in", "state", "cotangent"},
       .ignored = {"params", "init_params", "out", "grad", "summaries", "aux_losses", "outputs",
                   "module_outputs"}},
      {.read = {"in"}, .ignored = {"out"}},
      {.read = {"in", "cotangent"}, .ignored = {"out", "grad"}},
      {.read = {"init", "grad", "state"}, .ignored = {"param", "params", ""}},
      {.read = {"init", "batches", "state"},
       .ignored = {"final", "params", "init_params", "summaries", ""}}};
  InputSections out = kAll[subject.index()];
  if (!grad && std::erase(out.read, "cotangent") > 0) out.ignored.push_back("cotangent");
  return out;
}

Tree<HostTensor> evaluate(const EvalSubject& subject, const std::optional<Tree<HostTensor>>& params,
                          const Tree<HostTensor>& inputs, const SubjectOptions& options,
                          Runtime& runtime) {
  const std::string_view kind = kind_of(subject);
  const EvalLayerOptions& o = options.layer;
  const bool is_layer = std::holds_alternative<LayerFile>(subject);
  const bool is_schedule = std::holds_alternative<Schedule>(subject);
  const bool is_activation = std::holds_alternative<Activation>(subject);
  const bool is_function = is_schedule || is_activation;
  const bool is_learner = std::holds_alternative<Child<Learner>>(subject);
  refuse("--method", !is_layer && o.method != EvalLayerOptions().method, kind);
  refuse("--training", !is_layer && o.training, kind);
  refuse("--cache-len", !is_layer && o.cache_len.has_value(), kind);
  refuse("--grad", !is_layer && !is_activation && o.grad, kind);
  refuse("--steps", (is_layer || is_activation) && options.num_steps.has_value(), kind);
  refuse("--precision", is_schedule && o.dtype.has_value(), kind);
  refuse("--params", is_function && params.has_value(), kind);
  refuse("--seed", (is_function || is_learner) && o.init_seed.has_value(), kind);
  refuse("--key", (is_function || is_learner) && o.call_key.has_value(), kind);
  return std::visit(
      Overloaded{
          [&](const LayerFile& file) {
            return eval_layer(*build_layer(file), params, inputs, o, runtime);
          },
          [&](const Schedule& schedule) {
            return eval_schedule(schedule, inputs, {options.num_steps, o.grad, o.dtype}, runtime);
          },
          [&](const Activation& fn) {
            return eval_activation(fn, inputs, {options.num_steps, o.grad, o.dtype}, runtime);
          },
          [&](const Child<Learner>& learner) {
            return eval_learner(learner, params, inputs, {options.num_steps, o.dtype}, runtime);
          },
          [&](const Trainer::Config& config) {
            return eval_training(config, params, inputs,
                                 {options.num_steps, o.init_seed, o.call_key, o.dtype}, runtime);
          }},
      subject);
}

}  // namespace axle
