#include "plan/graph/layer_program.h"

#include <fmt/format.h>

#include <unordered_set>

#include "base/error.h"
#include "ir/op_rules.h"
#include "ir/value_map.h"
#include "lower/stablehlo.h"
#include "plan/graph/walk_ops.h"
#include "transform/remat/partition.h"

namespace axle {
namespace {

// Ops of one region.
struct Part {
  const Region* region = nullptr;
  std::vector<const OpNode*> ops = {};
};

// Returns the forward ops of the layer in the outermost region that has any.
Part find_forward(const Region& region, const std::string& layer) {
  const std::vector<StepStage> stages = stages_of(region);
  Part out{&region};
  for (size_t i = 0; i < stages.size(); ++i) {
    if (stages[i] == StepStage::kForward && is_in_layer(layer_of(*region.ops()[i]), layer))
      out.ops.push_back(region.ops()[i]);
  }
  if (!out.ops.empty()) return out;
  for (size_t i = 0; i < stages.size(); ++i) {
    if (stages[i] != StepStage::kForward) continue;
    for (const auto& body : region.ops()[i]->regions) {
      Part found = find_forward(*body, layer);
      if (!found.ops.empty()) return found;
    }
  }
  return out;
}

std::vector<ProgramValue> named(const Values& values, std::string_view prefix) {
  std::vector<ProgramValue> out;
  for (const Tensor& t : values) {
    const std::string_view path = t.is_parameter() ? layer_of(*t.node()) : std::string_view();
    out.push_back(
        {path.empty() ? fmt::format("{}{}", prefix, out.size()) : std::string(path), t.type()});
  }
  return out;
}

}  // namespace

Program layer_program(const Program& step, const std::string& layer) {
  const Part part = find_forward(*step.graph, layer);
  if (part.ops.empty()) {
    throw ConfigError(
        fmt::format("--layer: expected a layer of the forward pass, got '{}'", layer));
  }
  const std::unordered_set<const OpNode*> own(part.ops.begin(), part.ops.end());
  Values inputs, outputs;
  ValueSet seen;
  const auto add = [&](Values& to, const Tensor& t) {
    if (seen.insert(t)) to.push_back(t);
  };
  for (const OpNode* op : part.ops) {
    for (const Tensor& t : op->inputs) {
      if (!own.contains(t.node())) add(inputs, t);
    }
  }
  for (const OpNode* op : part.region->ops()) {
    if (own.contains(op)) continue;
    for (const Tensor& t : op->inputs) {
      if (own.contains(t.node())) add(outputs, t);
    }
  }
  for (const Tensor& t : part.region->results()) {
    if (own.contains(t.node())) add(outputs, t);
  }
  return lower(slice_region(*part.region, inputs, outputs), "layer", named(inputs, "input"),
               named(outputs, "output"), step.mesh);
}

}  // namespace axle
