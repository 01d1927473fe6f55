#include "interop/families/stored_tensors.h"

#include "nn/draw_parameter.h"

namespace axle {
namespace {

constexpr std::string_view kModel = "model";

}  // namespace

Tree<ParamSpec> stored_tensors(const Model& model, const std::vector<WeightRow>& rows) {
  Tree<ParamSpec> out = subtree(model.param_specs(), kModel);
  const Tree<ParamSpec> state = subtree(model.state_specs(), kModel);
  for (const WeightRow& row : rows)
    if (const auto found = state.find(row.ours); found != state.end()) out.insert(*found);
  return out;
}

Tree<HostTensor> take_layer_state(const Model& model, Tree<HostTensor>& tensors) {
  Tree<HostTensor> out;
  for (const auto& [path, spec] : model.state_specs()) {
    const auto found = tensors.find(path.substr(kModel.size() + 1));
    if (found == tensors.end()) {
      out.emplace(path, draw_parameter(path, spec, 0));
      continue;
    }
    out.emplace(path, std::move(found->second));
    tensors.erase(found);
  }
  return out;
}

}  // namespace axle
