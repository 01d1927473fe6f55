// A training step of the tiny root's model, on the interpreter.
#pragma once

#include "ir/text/text_form.h"
#include "modifiers/tiny_root_test.h"
#include "ops/annotate.h"
#include "testing/layer_inputs.h"
#include "testing/test_layer.h"
#include "transform/grad.h"

namespace axle {

struct TinyStep {
  std::shared_ptr<const Region> forward;  // the graph without the backward pass
  HostTensor loss;
  Tree<HostTensor> gradients;  // by the paths of the parameters
};

/// Builds the model, and computes the loss and its gradients for a fixed batch. Models with equal
/// parameters get equal values for them.
inline TinyStep step_of(const TinyRoot& root) {
  const auto model = root.model.build({}, Scope{.path = "model"});
  const testing::LayerFunction fn(*model, testing::jittered_parameters(*model),
                                  testing::LawInputs<Model>::make({}), {.training = true});
  std::vector<Type> types;
  for (const HostTensor& x : fn.arguments()) types.push_back(x.type());
  TinyStep step;
  step.forward = trace(fn, types);
  const std::vector<std::string>& paths = fn.parameter_paths();
  const std::vector<HostTensor> results = eval(
      [&](const Values& x) {
        const auto [outputs, gradients] = value_and_grad(fn, x);
        Values out{outputs[0]};
        out.insert(out.end(), gradients.begin(), gradients.begin() + paths.size());
        return out;
      },
      fn.arguments());
  step.loss = results[0];
  for (size_t i = 0; i < paths.size(); ++i) step.gradients.emplace(paths[i], results[i + 1]);
  return step;
}

/// Returns the number of sharding constraints with this layout: "[[data, fsdp], seq]".
inline int64_t count_constraints(const Region& region, const std::string& layout) {
  int64_t n = 0;
  for (const OpNode* op : region.ops()) {
    const PartitionSpec* spec = constraint_of(*op);
    n += spec && to_text(*spec) == layout;
    for (const auto& inner : op->regions) n += count_constraints(*inner, layout);
  }
  return n;
}

}  // namespace axle
