#include "train/initial_state.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/tree.h"
#include "config/document/serialize.h"
#include "infer/model_folder.h"
#include "ir/eval.h"
#include "layers/experts/upcycle.h"
#include "nn/param.h"
#include "ops/random/random.h"

namespace axle {
namespace {

Given what_is(const std::optional<Tree<HostTensor>>& given) {
  if (!given) return Given::kNothing;
  const bool with_state = !subtree(*given, kLayerStatePath).empty();
  return with_state ? Given::kParametersAndLayerState : Given::kParameters;
}

Tree<HostTensor> upcycled_state(const std::filesystem::path& folder, const Model& model,
                                int64_t seed, Progress& progress) {
  const auto dense_specs = [](const ModelConfig& config) {
    const std::string name(stored_prefix(Weights::kTrained));
    Child<Model> dense;
    from_json(dense, config.document.at(name), config.source + ": model");
    return dense.build({}, Scope{.path = name})->param_specs();
  };
  const ModelParameters saved = load_parameters(folder, dense_specs);
  Tree<HostTensor> out = upcycled(saved.by_path, model.param_specs(), seed);
  progress.note(fmt::format(
      "starts with the parameters of {} after step {}; experts are copies of its feed-forward "
      "layers, and {} parameters are new",
      folder.string(), saved.step, out.size() - saved.by_path.size()));
  return out;
}

}  // namespace

std::optional<Tree<HostTensor>> given_state(const InitFrom& from, const Model& model, int64_t seed,
                                            Progress& progress) {
  if (from.folder.empty()) {
    if (!from.upcycle) return std::nullopt;
    throw ConfigError("--upcycle: expected --init-from with the folder of a dense model, got none");
  }
  if (from.upcycle) return upcycled_state(from.folder, model, seed, progress);
  ModelParameters saved = load_initial_parameters(from.folder, model);
  const bool complete = saved.by_path.size() == stored_specs(model).size();
  progress.note(fmt::format("starts with the parameters of {} after step {}{}",
                            from.folder.string(), saved.step,
                            complete ? ""
                                     : "; it holds no state of layers, which start with their "
                                       "initial values"));
  return std::move(saved.by_path);
}

// Compiling the init program takes longer than interpreting it, unless the model is large.
Arrays initial_state(const ProgramParts& parts, const std::vector<ProgramValue>& leaves,
                     int64_t seed, const std::optional<Tree<HostTensor>>& given, Runtime& runtime,
                     const CompileOptions& options) {
  constexpr int64_t kLarge = 1'000'000'000;
  int64_t num_elements = 0;
  for (const ProgramValue& leaf : leaves) num_elements += leaf.type.num_elements();
  const Program init = init_program(parts, what_is(given));
  std::vector<HostTensor> arguments = {random::key(seed)};
  for (size_t i = 1; i < init.inputs.size(); ++i)
    arguments.push_back(given->at(init.inputs[i].name));
  if (num_elements >= kLarge) {
    Arrays arrays;
    for (size_t i = 0; i < arguments.size(); ++i)
      arrays.push_back(runtime.make_array(arguments[i], init.inputs[i].sharding, parts.mesh));
    return runtime.compile(init, options)->execute(arrays);
  }
  std::vector<HostTensor> values = evaluate(*init.graph, arguments);
  Arrays out;
  for (size_t i = 0; i < values.size(); ++i) {
    const HostTensor value = std::move(values[i]);  // freed early, to hold it twice only briefly
    out.push_back(runtime.make_array(value, leaves[i].sharding, parts.mesh));
  }
  return out;
}

}  // namespace axle
