#include "layers/models/frozen_call.h"

namespace axle {

Tensor call_frozen(const Model& model, const std::function<Tensor()>& fn) {
  const Invocation& outer = Invocation::current();
  const auto stored = [&](const Tree<ParamSpec>& specs) {
    Tree<Tensor> out;
    for (const auto& [path, spec] : specs) out.emplace(path, outer.stored_state(path));
    return out;
  };
  const Invocation alone(outer.path(), stored(model.param_specs()),
                         {.state = stored(model.state_specs()),
                          .summaries = false,
                          .in_loop = outer.options().in_loop,
                          .mesh = outer.options().mesh});
  return fn();
}

Tree<ParamSpec> with_frozen(Tree<ParamSpec> own, const Model& frozen) {
  own.merge(frozen.param_specs());
  return own;
}

}  // namespace axle
