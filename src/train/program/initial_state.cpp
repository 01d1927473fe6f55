#include "train/program/initial_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/mistakes.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "base/tree.h"
#include "config/serialize.h"
#include "interop/model_folder.h"
#include "ir/eval.h"
#include "layers/experts/moe.h"
#include "layers/products/lora_product.h"
#include "nn/param.h"
#include "ops/random/random.h"

namespace axle {
namespace {

std::unique_ptr<Model> built_model(const ModelConfig& config) {
  const std::string name(stored_prefix(Weights::kTrained));
  Child<Model> model;
  from_json(model, config.document.at(name), config.source + ": model");
  return model.build({}, Scope{.path = name});
}

Tree<HostTensor> upcycled_state(const ModelPath& folder, const Model& model, int64_t seed,
                                Progress& progress) {
  const auto dense_specs = [](const ModelConfig& config) {
    return built_model(config)->param_specs();
  };
  const ModelParameters saved = load_parameters(folder, dense_specs);
  Tree<HostTensor> out = upcycled(saved.by_path, model.param_specs(), seed);
  progress.note(fmt::format(
      "starts with the parameters of {} after step {}; experts are copies of its feed-forward "
      "layers, and {} parameters are new",
      folder.path.string(), saved.step, out.size() - saved.by_path.size()));
  return out;
}

// Says what was loaded, besides parameters as they are stored.
std::string loaded_text(const ModelParameters& saved, const Model& model) {
  const bool has_state =
      model.state_specs().empty() || !subtree(saved.by_path, kLayerStatePath).empty();
  const auto num_new = std::ranges::count_if(
      model.param_specs(), [&](const auto& spec) { return !saved.by_path.contains(spec.first); });
  return fmt::format(
      "after step {}{}{}{}", saved.step,
      has_state ? "" : "; it holds no state of layers, which start with their initial values",
      num_new == 0 ? "" : fmt::format("; {} parameters of adapters are new", num_new),
      saved.num_coded == 0
          ? ""
          : fmt::format("; {} became codes, {} of them rounded", counted(saved.num_coded, "weight"),
                        saved.num_rounded == 0 ? "none" : std::to_string(saved.num_rounded)));
}

// Returns a path in the state of a training run: of a parameter, or of state if no parameter has
// it, as those of frozen models are.
std::string name_in_state(const std::string& path, bool is_state, const Tree<ParamSpec>& specs) {
  return is_state || !specs.contains(path) ? join_path(kLayerStatePath, path) : path;
}

// Returns the values with which a submodel starts, by their names in the training state.
Tree<HostTensor> start_of_submodel(const Model::StartingPart& part, const ModelPath& place,
                                   const Tree<ParamSpec>& specs, Progress& progress) {
  const std::string root(stored_prefix(Weights::kTrained)),
      path = join_path(root, part.field), state = std::string(kLayerStatePath) + "/";
  const auto model = part.config.build({}, Scope{.path = root});
  ModelParameters saved = load_initial_parameters(place, *model);
  progress.note(fmt::format("{} starts with the parameters of {} {}", path, place.path.string(),
                            loaded_text(saved, *model)));
  Tree<HostTensor> out;
  for (auto& [stored, value] : saved.by_path) {
    const bool is_state = stored.starts_with(state);
    const std::string below = stored.substr((is_state ? state.size() : 0) + root.size());
    const std::string name = name_in_state(path + below, is_state, specs);
    const DType dtype = specs.at(name).type().dtype;
    out.emplace(name, value.dtype() == dtype ? std::move(value) : value.astype(dtype));
  }
  return out;
}

// The adapters of frozen models that have none at their start. They change nothing.
void add_new_adapters(const Model& model, Tree<HostTensor>& given) {
  const Tree<ParamSpec> state = model.state_specs();
  for (const Model* frozen : model.frozen_models()) {
    for (const std::string& path : adapter_paths(*frozen)) {
      if (const auto own = state.find(path); own != state.end())
        given.try_emplace(join_path(kLayerStatePath, path), HostTensor(own->second.type()));
    }
  }
}

// Throws ConfigError unless the model has values below `path`.
void check_submodel(const std::string& path, const Tree<ParamSpec>& specs) {
  const std::string state = std::string(kLayerStatePath) + "/",
                    model = std::string(stored_prefix(Weights::kTrained)) + "/";
  std::set<std::string> submodels;
  for (const auto& [name, spec] : specs) {
    const std::string below = name.substr(name.starts_with(state) ? state.size() : 0);
    if (below.starts_with(path + "/")) return;
    if (below.starts_with(model))
      submodels.insert(below.substr(model.size(), below.find('/', model.size()) - model.size()));
  }
  throw ConfigError(
      fmt::format("--init-part: expected a part of the model ({}), got '{}'",
                  join(std::vector<std::string>(submodels.begin(), submodels.end()), ", "),
                  path.substr(model.size())));
}

// Says what to do with a start that is no plain model; empty if it is one.
std::string advice_on_start(const Model& own, const std::string& path, const std::string& folder) {
  const auto text = [&](const char* got, const std::string& command) {
    return fmt::format("{}: expected plain weights for {}, got {}; {} first", folder, path, got,
                       command);
  };
  if (!own.frozen_models().empty())
    return text("a model beside a frozen one", "axle export " + folder + " --format hf --out NEW");
  if (!adapter_paths(own).empty())
    return text("weights with adapters", "axle checkpoint merge " + folder + " --dir NEW");
  return {};
}

// Returns the values of the model in `folder` by their names in the training state of a larger
// model, which holds that model at `path`. Its parameters may be layer state there.
Tree<HostTensor> state_of_submodel(const std::string& path, const ModelPath& place,
                                   const Tree<ParamSpec>& specs, Progress& progress) {
  const std::string state = std::string(kLayerStatePath) + "/",
                    model(stored_prefix(Weights::kTrained));
  const auto name_there = [&](const std::string& stored) {
    const bool is_state = stored.starts_with(state);
    const std::string below = stored.substr(is_state ? state.size() : 0);
    return name_in_state(path + below.substr(model.size()), is_state, specs);
  };
  check_submodel(path, specs);
  const std::string folder = place.path.string();
  std::string advice;
  const ModelParameters saved = load_parameters(place, [&](const ModelConfig& config) {
    const auto own = built_model(config);
    advice = advice_on_start(*own, path, folder);
    return stored_specs(*own);
  });
  Tree<HostTensor> out;
  Mistakes mistakes;
  for (const auto& [stored, value] : saved.by_path) {
    const std::string name = name_there(stored);
    const auto spec = specs.find(name);
    if (spec == specs.end() || spec->second.shape != value.shape() ||
        is_float(spec->second.type().dtype) != is_float(value.dtype())) {
      mistakes.add(fmt::format("{}: expected {}, got {} from {}", name,
                               spec == specs.end() ? "no such value" : to_text(spec->second.type()),
                               to_text(value.type()), folder));
      continue;
    }
    out.emplace(name, value.astype(spec->second.type().dtype));
  }
  for (const auto& [name, spec] : specs) {
    const bool is_below = name.starts_with(path + "/") || name.starts_with(state + path + "/");
    if (is_below && !out.contains(name) && mistakes.size() == 0)
      mistakes.add(fmt::format("{}: expected a value in {}, got none", name, folder));
  }
  if (mistakes.size() > 0 && !advice.empty()) throw ConfigError(advice);
  mistakes.throw_any();
  progress.note(
      fmt::format("{} starts with the parameters of {} after step {}", path, folder, saved.step));
  return out;
}

// The specs of all parameters and of state, without adapters, which are new.
Tree<ParamSpec> specs_to_load(const Model& model) {
  Tree<ParamSpec> out = stored_specs(model);
  for (const std::string& path : adapter_paths(model)) out.erase(path);
  return out;
}

void check_frozen(const Model& model, const Tree<HostTensor>& given) {
  for (const std::string& path : model.read_by_frozen()) {
    if (given.contains(path)) continue;
    throw ConfigError(fmt::format(
        "{}: expected the value with which the frozen model reads it, got none; give --init-from "
        "FOLDER, a trained model",
        path));
  }
  const Tree<ParamSpec> state = model.state_specs();
  for (const Model* frozen : model.frozen_models()) {
    const std::vector<std::string> adapters = adapter_paths(*frozen);
    for (const auto& [path, spec] : frozen->param_specs()) {
      const bool is_read = !state.contains(path), is_new = std::ranges::count(adapters, path) > 0;
      if (is_read || is_new || given.contains(join_path(kLayerStatePath, path))) continue;
      const std::string part = frozen->config_path();
      throw ConfigError(fmt::format(
          "{}: expected the parameters of a trained model, got none; give --init-part {}=FOLDER",
          part, part.substr(part.find('.') + 1)));
    }
  }
}

}  // namespace

Tree<HostTensor> initial_values(const InitFrom& from, const Model& model, int64_t seed,
                                Progress& progress) {
  Tree<HostTensor> out;
  if (from.upcycle && from.folder.empty())
    throw ConfigError("--upcycle: expected --init-from with the folder of a dense model, got none");
  const ModelPath start{from.folder, from.ignored};
  const std::vector<Model::StartingPart> starting = model.starting_parts();
  const bool by_submodels = !from.folder.empty() && !starting.empty();
  if (from.upcycle) {
    out = upcycled_state(start, model, seed, progress);
  } else if (!by_submodels && !from.folder.empty()) {
    ModelParameters saved = load_initial_parameters(start, model);
    progress.note(fmt::format("starts with the parameters of {} {}", from.folder.string(),
                              loaded_text(saved, model)));
    out = std::move(saved.by_path);
  }
  const Tree<ParamSpec> specs = stored_specs(model);
  const auto take = [&](Tree<HostTensor> values) {
    for (auto& [name, value] : values) out.insert_or_assign(name, std::move(value));
  };
  for (const Model::StartingPart& part : starting) {
    if (by_submodels && !from.submodels.contains(part.field))
      take(start_of_submodel(part, start, specs, progress));
  }
  for (const auto& [part, folder] : from.submodels) {
    std::string path = join_path(stored_prefix(Weights::kTrained), part);
    std::ranges::replace(path, '.', '/');
    take(state_of_submodel(path, {folder, from.ignored}, specs_to_load(model), progress));
  }
  model.complete_start(out);
  check_frozen(model, out);
  add_new_adapters(model, out);
  return out;
}

// Compiling the init program takes longer than interpreting it, unless the model is large.
Arrays initial_state(const ProgramSpec& spec, const std::vector<ProgramValue>& leaves, int64_t seed,
                     Tree<HostTensor> given, Runtime& runtime, const CompileOptions& options) {
  constexpr int64_t kLarge = 1'000'000'000;
  int64_t num_elements = 0;
  for (const ProgramValue& leaf : leaves) num_elements += leaf.type.num_elements();
  std::set<std::string> names;
  for (const auto& [name, value] : given) names.insert(name);
  const Program init = init_program(spec, names);
  std::vector<HostTensor> arguments = {random::key_words(seed)};
  for (size_t i = 1; i < init.inputs.size(); ++i)
    arguments.push_back(std::move(given.at(init.inputs[i].name)));
  // Each value is freed when it is on the devices, which may have the host's memory.
  if (num_elements >= kLarge) {
    Arrays arrays;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const HostTensor value = std::move(arguments[i]);
      arrays.push_back(runtime.make_array(value, init.inputs[i].sharding, spec.mesh));
    }
    return runtime.compile(init, options)->execute(arrays);
  }
  Arrays out(leaves.size());
  evaluate_each(*init.graph, std::move(arguments), [&](size_t i, const HostTensor& value) {
    out[i] = runtime.make_array(value, leaves[i].sharding, spec.mesh);
  });
  return out;
}

}  // namespace axle
