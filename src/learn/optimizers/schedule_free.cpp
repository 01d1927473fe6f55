#include "learn/optimizers/schedule_free.h"

#include <fmt/format.h>

#include <typeinfo>

#include "base/error.h"
#include "config/carry.h"
#include "config/register.h"
#include "config/walk.h"
#include "learn/moments.h"
#include "learn/optimizers/adastar.h"
#include "learn/schedules/schedule_curve.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"

namespace axle {
namespace {

constexpr std::string_view kInnerOptimizer = "inner";
constexpr const char* kWeightSum = "weight_sum";

// Takes the falls from the rates of an optimizer and of those inside of it, and their momentum.
void make_schedule_free(const AnyConfig& old, const ConfigType&) {
  const auto change = [](const std::string&, const Slot& slot) {
    const std::type_info& type = *slot.ops->type;
    const bool is_rate = slot.name == "learning_rate" || slot.name == "update_schedule";
    const bool is_momentum = slot.name == "b1" || slot.name == "momentum" ||
                             slot.name == "gradient_mean" || slot.name == "update_mean";
    if (is_rate && type == typeid(Schedule)) {
      auto& rate = *static_cast<Schedule*>(slot.at);
      rate = without_fall(rate);
    } else if (is_momentum && type == typeid(FractionBelowOne)) {
      *static_cast<FractionBelowOne*>(slot.at) = 0;
    } else if (is_momentum && type == typeid(std::optional<Schedule>)) {
      *static_cast<std::optional<Schedule>*>(slot.at) = std::nullopt;
    } else if (is_momentum && type == typeid(std::optional<MovingMean>)) {
      *static_cast<std::optional<MovingMean>*>(slot.at) = std::nullopt;
    }
  };
  walk(ConfigView(old), change);
}

}  // namespace

ScheduleFree::ScheduleFree(const Config& cfg, const Dims& dims, const Scope& scope)
    : cfg_(cfg),
      params_(dims.params),
      inner_(cfg.inner.build_part(dims, part_scope(scope, kInnerOptimizer))) {}

Tree<ParamSpec> ScheduleFree::state_specs() const {
  Tree<ParamSpec> specs = zero_state_specs(params_, "z");
  specs.emplace(kWeightSum, ParamSpec{.init = Zeros{}, .dtype = DType::kF32});
  put_subtree(specs, kInnerOptimizer, inner_->state_specs());
  return specs;
}

Tree<Tensor> ScheduleFree::initialize(const Tree<Tensor>& params) const {
  Tree<Tensor> state{{kWeightSum, scalar(0)}};
  for (const auto& [path, param] : params) state.emplace("z/" + path, astype(param, DType::kF32));
  put_subtree(state, kInnerOptimizer, checked_initialize(*inner_, params, kInnerOptimizer));
  return state;
}

Tree<Tensor> ScheduleFree::gradient_point(const Tree<Tensor>& params,
                                          const Tree<Tensor>& state) const {
  Tree<Tensor> y;
  for (const auto& [path, x] : params)
    y.emplace(path, moving_mean(cfg_.beta, astype(x, DType::kF32), state.at("z/" + path)));
  return inner_->gradient_point(y, subtree(state, kInnerOptimizer));
}

Tree<Tensor> ScheduleFree::measure(const MeasureInputs& in) const {
  const Tree<Tensor> y = gradient_point(in.params, in.state),
                     state = subtree(in.state, kInnerOptimizer);
  return inner_->measure({in.objective, y, state, in.step, in.key});
}

UpdateOutputs ScheduleFree::update(const UpdateInputs& in) const {
  const Tree<Tensor> y = gradient_point(in.params, in.state),
                     state = subtree(in.state, kInnerOptimizer);
  UpdateOutputs inner = checked_update(
      *inner_, {in.gradients, y, state, in.step, in.gradient_norm, in.measured}, kInnerOptimizer);
  const auto reported = inner.metrics.find("learning_rate");
  if (reported == inner.metrics.end()) {
    throw ConfigError(fmt::format(
        "learner.optimizer.inner: expected an optimizer with one rate, which reports the metric "
        "learning_rate, got {}",
        short_type_name(typeid(*inner_))));
  }
  const Tensor& rate = reported->second;
  const Tensor weight = pow(rate, scalar(cfg_.weight_power));
  const Tensor weight_sum = in.state.at(kWeightSum) + weight;
  const Tensor c = select(weight_sum > 0, weight / select(weight_sum > 0, weight_sum, 1), 0);

  UpdateOutputs out{.metrics = std::move(inner.metrics)};
  for (const auto& [path, step] : inner.updates) {
    const Tensor z = in.state.at("z/" + path) + step;
    out.updates.emplace(path, c * (z - astype(in.params.at(path), DType::kF32)));
    out.state.emplace("z/" + path, z);
  }
  out.state.emplace(kWeightSum, weight_sum);
  put_subtree(out.state, kInnerOptimizer, std::move(inner.state));
  return out;
}

const CarryRule kScheduleFreeCarry(typeid(ScheduleFree), kInnerOptimizer, &make_schedule_free);

AXLE_REGISTER(ScheduleFree)

}  // namespace axle
