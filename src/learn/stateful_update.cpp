#include "learn/stateful_update.h"

#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/reductions/reduce.h"

namespace axle {

Tensor UpdateInputs::norm() const { return gradient_norm ? gradient_norm : global_norm(gradients); }

Tree<Tensor> StatefulUpdate::initialize(const Tree<Tensor>&) const {
  Tree<Tensor> state;
  for (const auto& [path, spec] : state_specs()) state.emplace(path, spec.initialiser().draw({}));
  return state;
}

std::string field_path(const Scope& scope, std::string_view field) {
  return scope.path.empty() ? std::string(field) : scope.path + "." + std::string(field);
}

Scope part_scope(const Scope& scope, std::string_view field) {
  return {.path = field_path(scope, field), .construction = scope.construction};
}

Tree<ParamSpec> zero_state_specs(const Tree<ParamSpec>& params, std::string_view name) {
  Tree<ParamSpec> out;
  for (const auto& [path, param] : params) {
    out.emplace(join_path(name, path), ParamSpec{.shape = param.shape,
                                                 .mesh_axes = param.mesh_axes,
                                                 .init = Zeros{},
                                                 .dtype = DType::kF32});
  }
  return out;
}

Tensor global_norm(const Tree<Tensor>& tree) {
  Tensor squares = scalar(0);
  for (const auto& [path, t] : tree) squares = squares + sum(square(astype(t, DType::kF32)));
  return sqrt(squares);
}

}  // namespace axle
