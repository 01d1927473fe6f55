#include "train/initial_state.h"

#include <fmt/format.h>

#include "base/tree.h"
#include "infer/model_folder.h"
#include "ir/eval.h"
#include "nn/param.h"
#include "ops/random/random.h"

namespace axle {
namespace {

Given what_is(const std::optional<Tree<HostTensor>>& given) {
  if (!given) return Given::kNothing;
  const bool with_state = !subtree(*given, kLayerStatePath).empty();
  return with_state ? Given::kParametersAndLayerState : Given::kParameters;
}

}  // namespace

std::optional<Tree<HostTensor>> given_state(const std::filesystem::path& folder, const Model& model,
                                            Progress& progress) {
  if (folder.empty()) return std::nullopt;
  ModelParameters saved = load_initial_parameters(folder, model);
  const bool complete = saved.by_path.size() == stored_specs(model).size();
  progress.note(fmt::format("starts with the parameters of {} after step {}{}", folder.string(),
                            saved.step,
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
