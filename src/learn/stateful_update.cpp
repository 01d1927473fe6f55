#include "learn/stateful_update.h"

#include <fmt/format.h>

#include <cmath>
#include <typeinfo>

#include "base/class_call.h"
#include "base/error.h"
#include "ir/type.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"

namespace axle {

Tensor UpdateInputs::norm() const { return gradient_norm ? gradient_norm : global_norm(gradients); }

Tree<Tensor> StatefulUpdate::initialize(const Tree<Tensor>&) const {
  Tree<Tensor> state;
  for (const auto& [path, spec] : state_specs()) state.emplace(path, spec.initialiser().draw({}));
  return state;
}

namespace {

void check_state(const StatefulUpdate& stage, const Tree<Tensor>& state, std::string_view where,
                 std::string_view method) {
  const std::string differences = type_differences(types_of(stage.state_specs()), types_of(state));
  if (differences.empty()) return;
  throw ShapeError(
      fmt::format("{}: {}: expected {}() to return the state of state_specs(), got: {}", where,
                  short_type_name(typeid(stage)), method, differences));
}

// Dims alone: a gradient may be of another dtype than its update.
Tree<Type> shapes_of(const Tree<Tensor>& tensors) {
  Tree<Type> out = types_of(tensors);
  for (auto& [path, type] : out) type.dtype = DType::kF32;
  return out;
}

}  // namespace

UpdateOutputs checked_update(const StatefulUpdate& stage, const UpdateInputs& in,
                             std::string_view where) {
  const ClassCall call(typeid(stage), where);
  UpdateOutputs out = stage.update(in);
  check_state(stage, out.state, where, "update");
  const std::string differences = type_differences(shapes_of(in.gradients), shapes_of(out.updates));
  if (!differences.empty()) {
    throw ShapeError(fmt::format(
        "{}: {}: expected update() to return an update of the shape of each gradient, got: {}",
        where, short_type_name(typeid(stage)), differences));
  }
  return out;
}

Tree<Tensor> checked_initialize(const StatefulUpdate& stage, const Tree<Tensor>& params,
                                std::string_view where) {
  const ClassCall call(typeid(stage), where);
  Tree<Tensor> state = stage.initialize(params);
  check_state(stage, state, where, "initialize");
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

Tree<ParamSpec> moment_specs(const Tree<ParamSpec>& params) {
  Tree<ParamSpec> specs = zero_state_specs(params, "m");
  specs.merge(zero_state_specs(params, "v"));
  return specs;
}

Tensor moving_mean(double decay, const Tensor& mean, const Tensor& x) {
  return decay * mean + (1 - decay) * x;
}
Tensor moving_mean(const Tensor& decay, const Tensor& mean, const Tensor& x) {
  return decay * mean + (1.0 - decay) * x;
}

// expm1 avoids the cancellation for a decay near 1.
Tensor bias_correction(double decay, const Tensor& step) {
  return decay == 0 ? step / step : -1.0 / expm1(step * std::log(decay));
}

Tensor debiased_decay(double decay, const Tensor& step) {
  if (decay == 0) return zeros_like(step);
  const double log = std::log(decay);
  return decay * expm1((step - 1) * log) / expm1(step * log);
}

}  // namespace axle
