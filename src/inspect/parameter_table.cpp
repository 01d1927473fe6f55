#include "inspect/parameter_table.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text/text_table.h"
#include "config/missing.h"
#include "config/walk.h"
#include "inspect/numpy_name.h"
#include "learn/weight_decay.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

// Returns the weight decay factors that patterns in the learner's config give, whatever the class
// of the learner: those that differ from what the specs say.
Tree<double> factors_of(const Child<Learner>& learner, const Tree<ParamSpec>& specs) {
  Tree<double> out;
  if (!learner) return out;
  const auto take = [&](const std::string& path, const Slot& slot) {
    if (!path.ends_with(".weight_decay_scales")) return;
    if (*slot.ops->type != typeid(WeightDecayScales)) return;
    const auto& patterns = *static_cast<const WeightDecayScales*>(slot.at);
    for (const auto& [param, factor] : weight_decay_scales(specs, patterns, path)) {
      if (factor != specs.at(param).weight_decay_scale.value_or(1)) out[param] = factor;
    }
  };
  walk(learner, take, {}, "learner");
  return out;
}

Json axes_document(const DimAxes& axes) {
  if (axes.empty()) return nullptr;
  if (axes.size() == 1) return axes[0];
  return static_cast<const std::vector<std::string>&>(axes);
}

}  // namespace

ParameterTable parameter_table(const Trainer::Config& config) {
  check_complete(config.model, "model");
  const auto model = config.model.build({}, Scope{.config_path = "model"});
  Tree<ParamSpec> specs = model->param_specs();
  if (const auto* learner = config.learner.get_if<Learner>())
    exempt_from_decay(specs, learner->undecayed, "learner.undecayed");
  const Tree<double> factors = factors_of(config.learner, specs);
  ParameterTable out;
  for (const auto& [path, spec] : specs) {
    std::optional<double> scale = spec.weight_decay_scale;
    if (const auto factor = factors.find(path); factor != factors.end()) scale = factor->second;
    out.rows.push_back({path, spec.type(), spec.mesh_axes, spec.initialiser().text, scale});
    out.total_params += spec.type().num_elements();
  }
  return out;
}

std::string to_text(const ParameterTable& table) {
  TextTable text({"parameter", "shape", "dtype", "mesh axes", "initialiser", "weight decay"});
  for (const ParameterRow& row : table.rows) {
    text.add({row.path, to_text(row.type.dims), to_text(row.type.dtype),
              to_text(PartitionSpec{.dims = row.axes}), row.init,
              fmt::format("x{}", row.weight_decay_scale.value_or(1))});
  }
  return text.text() + fmt::format("{} parameters in {} tensors\n",
                                   grouped_digits(table.total_params), table.rows.size());
}

Json to_json(const ParameterTable& table) {
  Json params = Json::object();
  for (const ParameterRow& row : table.rows) {
    Json axes = Json::array();
    for (const DimAxes& dim : row.axes) axes.push_back(axes_document(dim));
    Json& entry = params[row.path];
    entry["shape"] = row.type.dims;
    entry["dtype"] = numpy_name(row.type.dtype);
    entry["axes"] = std::move(axes);
    entry["init"] = row.init;
    entry["weight_decay_scale"] =
        row.weight_decay_scale ? Json(*row.weight_decay_scale) : Json(nullptr);
  }
  return {{"params", std::move(params)}, {"total_params", table.total_params}};
}

}  // namespace axle
