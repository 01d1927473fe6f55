#include "learn/optimizers/adafactor.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "learn/stateful_update.h"
#include "learn/transforms/gradient_transforms.h"
#include "learn/weight_decay.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"

namespace axle {
namespace {

constexpr double kLeastParamRms = 1e-3;

// Returns the spec of a mean of the parameter over one of its dims.
ParamSpec mean_spec(const ParamSpec& param, int64_t over) {
  ParamSpec out{
      .shape = param.shape, .mesh_axes = param.mesh_axes, .init = Zeros{}, .dtype = DType::kF32};
  out.shape.erase(out.shape.begin() + over);
  if (over < std::ssize(out.mesh_axes)) out.mesh_axes.erase(out.mesh_axes.begin() + over);
  return out;
}

}  // namespace

Adafactor::Adafactor(const Config& cfg, const Dims& dims, const Scope& scope)
    : cfg_(cfg),
      params_(dims.params),
      descent_({.learning_rate = cfg.learning_rate,
                .weight_decay = cfg.weight_decay,
                .decay_factor = cfg.decay_factor,
                .weight_decay_scales = cfg.weight_decay_scales},
               params_, scope) {
  if (cfg.b1) check_schedule(*cfg.b1, field_path(scope, "b1"), Fraction::kBounds);
  check_schedule(cfg.b2, field_path(scope, "b2"), Fraction::kBounds);
  const auto left_out = matching_paths(params_, cfg.unfactored, field_path(scope, "unfactored"));
  for (const auto& [path, spec] : params_) {
    const auto matrices = matrix_dims(spec);
    if (matrices && !left_out.contains(path)) factored_.emplace(path, *matrices);
  }
}

Tree<ParamSpec> Adafactor::state_specs() const {
  Tree<ParamSpec> specs;
  if (cfg_.b1) specs = zero_state_specs(params_, "m");
  for (auto& [path, spec] : zero_state_specs(params_, "v")) {
    const std::string param = path.substr(2);
    const auto dims = factored_.find(param);
    if (dims == factored_.end()) {
      specs.emplace(path, spec);
      continue;
    }
    specs.emplace("v_over_rows/" + param, mean_spec(spec, dims->second.row));
    specs.emplace("v_over_columns/" + param, mean_spec(spec, dims->second.column));
  }
  return specs;
}

// Returns g divided by the root of its second moment, which it updates.
Tensor Adafactor::normalized(const std::string& path, const Tensor& g, const Tensor& b2,
                             const Tree<Tensor>& state, Tree<Tensor>& next) const {
  const Tensor squares = square(g) + cfg_.eps;
  const auto updated = [&](const std::string& name, const Tensor& x) {
    return next.emplace(name + path, moving_mean(b2, state.at(name + path), x)).first->second;
  };
  const auto dims = factored_.find(path);
  if (dims == factored_.end()) return g / sqrt(updated("v/", squares));
  const auto [row, column] = dims->second;
  const Tensor over_rows = expand_dims(updated("v_over_rows/", mean(squares, {row})), row);
  const Tensor over_columns =
      expand_dims(updated("v_over_columns/", mean(squares, {column})), column);
  const Tensor over_all = mean(over_rows, {column}, /*keep_dims=*/true);
  return g / sqrt(over_rows / over_all) / sqrt(over_columns);
}

UpdateOutputs Adafactor::update(const UpdateInputs& in) const {
  const Descent::Factors factors = descent_.at(in.step);
  const Tensor b2 = cfg_.b2(in.step);
  const Tensor b1 = cfg_.b1 ? (*cfg_.b1)(in.step) : Tensor();
  UpdateOutputs out{.metrics = {{"learning_rate", factors.rate}}};
  for (const auto& [path, gradient] : in.gradients) {
    const ParamSpec& spec = params_.at(path);
    const Tensor param = astype(in.params.at(path), DType::kF32);
    Tensor u = normalized(path, astype(gradient, DType::kF32), b2, in.state, out.state);
    if (cfg_.max_rms) u = clipped_by_block_rms(u, spec, *cfg_.max_rms);
    u = u * factors.rate;
    if (cfg_.step_size == StepSize::kRelative)
      u = u * maximum(block_rms(param, spec), kLeastParamRms);
    if (b1) {
      u = moving_mean(b1, in.state.at("m/" + path), u);
      out.state.emplace("m/" + path, u);
    }
    out.updates.emplace(path, descent_.decayed(-u, path, param, factors));
  }
  return out;
}

Tree<UpdateSize> Adafactor::update_sizes() const {
  const bool is_relative = cfg_.step_size == StepSize::kRelative;
  return update_sizes_of(params_, is_relative ? UpdateKind::kParameter : UpdateKind::kElements);
}

AXLE_REGISTER(Adafactor)

AdaStar::AdaStar(const Config& cfg, const Dims& dims, const Scope& scope)
    : cfg_(cfg),
      params_(dims.params),
      descent_({.learning_rate = cfg.learning_rate,
                .update_schedule = &cfg.update_schedule,
                .weight_decay = cfg.weight_decay,
                .decay_factor = cfg.decay_factor,
                .weight_decay_scales = cfg.weight_decay_scales},
               params_, scope) {
  if (cfg.eps == 0 && cfg.eps_square == 0) {
    throw ConfigError(fmt::format("{}: expected a number above 0 here or in eps_square, got two 0",
                                  field_path(scope, "eps")));
  }
}

Tree<ParamSpec> AdaStar::state_specs() const {
  Tree<ParamSpec> specs = zero_state_specs(params_, "v");
  if (cfg_.gradient_mean) specs.merge(zero_state_specs(params_, "m"));
  if (cfg_.update_mean) specs.merge(zero_state_specs(params_, "u"));
  return specs;
}

UpdateOutputs AdaStar::update(const UpdateInputs& in) const {
  const Tensor t = astype(in.step, DType::kF32);
  const Descent::Factors factors = descent_.at(in.step);
  UpdateOutputs out{.metrics = {{"learning_rate", factors.rate}}};
  // Returns the mean of the state `name` after this x.
  const auto averaged = [&](const std::optional<MovingMean>& mean, const std::string& name,
                            const Tensor& x) {
    if (!mean) return x;
    const Tensor next = moving_mean(mean->decay, in.state.at(name), x);
    out.state.emplace(name, next);
    return mean->debias == Debias::kYes ? next * bias_correction(mean->decay, t) : next;
  };
  for (const auto& [path, gradient] : in.gradients) {
    const Tensor g = astype(gradient, DType::kF32);
    const Tensor v = averaged(cfg_.square_mean, "v/" + path, square(g) + cfg_.eps_square);
    Tensor u = averaged(cfg_.gradient_mean, "m/" + path, g) / (sqrt(v) + cfg_.eps);
    if (cfg_.max_rms) u = clipped_by_block_rms(u, params_.at(path), *cfg_.max_rms);
    u = averaged(cfg_.update_mean, "u/" + path, u);
    out.updates.emplace(path, descent_.along(u, path, in.params.at(path), factors));
  }
  return out;
}

Tree<UpdateSize> AdaStar::update_sizes() const {
  return update_sizes_of(params_, UpdateKind::kElements);
}

AXLE_REGISTER(MovingMean)
AXLE_REGISTER(AdaStar)

}  // namespace axle
