#include "learn/optimizers/wrapping_optimizers.h"

#include <fmt/format.h>

#include <limits>
#include <typeinfo>

#include "base/error.h"
#include "config/carry.h"
#include "config/register.h"
#include "config/walk.h"
#include "learn/optimizers/adafactor.h"
#include "learn/schedules/schedules.h"
#include "learn/stateful_update.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"

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
  walk(old, change);
}

}  // namespace

ScheduleFree::ScheduleFree(const Config& cfg, const Dims& dims, const Scope& scope)
    : cfg_(cfg),
      params_(dims.params),
      inner_(cfg.inner.build(dims, part_scope(scope, kInnerOptimizer))) {}

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

namespace {

constexpr std::string_view kInner = "inner";
constexpr double kInfinity = std::numeric_limits<double>::infinity();

NormStatistics statistics(const Tree<Tensor>& state) {
  const Tensor& mean = state.at("norm_mean");
  const Tensor variance = state.at("norm_square_mean") - square(mean);
  return {.count = state.at("count"), .mean = mean, .deviation = sqrt(maximum(variance, 0))};
}

}  // namespace

Tensor FixedNorm::operator()(const NormStatistics&) const { return scalar(double{value}); }

Tensor TimesMeanNorm::operator()(const NormStatistics& seen) const {
  return select(seen.count > 0, seen.mean * double{multiplier}, kInfinity);
}

Tensor MeanPlusDeviations::operator()(const NormStatistics& seen) const {
  const Tensor limit = seen.mean + seen.deviation * double{multiplier};
  return select(seen.count < static_cast<double>(min_count), full_like(limit, kInfinity), limit);
}

SkipAndClip::SkipAndClip(const Config& cfg, const Dims& dims, const Scope& scope)
    : cfg_(cfg), inner_(cfg.inner.build(dims, part_scope(scope, kInner))) {}

Tree<ParamSpec> SkipAndClip::state_specs() const {
  Tree<ParamSpec> specs;
  put_subtree(specs, kInner, inner_->state_specs());
  for (const char* count : {"count", "skipped"})
    specs.emplace(count, ParamSpec{.init = Zeros{}, .dtype = DType::kI32});
  for (const char* mean : {"norm_mean", "norm_square_mean"})
    specs.emplace(mean, ParamSpec{.init = Zeros{}, .dtype = DType::kF32});
  return specs;
}

Tree<Tensor> SkipAndClip::initialize(const Tree<Tensor>& params) const {
  Tree<Tensor> state = Optimizer::initialize(params);
  put_subtree(state, kInner, checked_initialize(*inner_, params, kInner));
  return state;
}

Tree<Tensor> SkipAndClip::gradient_point(const Tree<Tensor>& params,
                                         const Tree<Tensor>& state) const {
  return inner_->gradient_point(params, subtree(state, kInner));
}

Tree<Tensor> SkipAndClip::measure(const MeasureInputs& in) const {
  const Tree<Tensor> state = subtree(in.state, kInner);
  return inner_->measure({in.objective, in.params, state, in.state.at("count") + 1, in.key});
}

UpdateOutputs SkipAndClip::update(const UpdateInputs& in) const {
  const Tensor norm = in.norm(), count = in.state.at("count");
  Tensor valid = is_finite(norm);
  if (cfg_.drop_norm) valid = valid & less(norm, (*cfg_.drop_norm)(statistics(in.state)));

  Tree<Tensor> gradients = in.gradients;
  Tensor clipped_norm = norm;
  if (cfg_.max_norm) {
    const Tensor scale = minimum(*cfg_.max_norm / (norm + cfg_.eps), 1);
    for (auto& [path, gradient] : gradients) gradient = astype(gradient, DType::kF32) * scale;
    clipped_norm = {};
  }
  const Tree<Tensor> state = subtree(in.state, kInner);
  UpdateOutputs out = checked_update(
      *inner_, {gradients, in.params, state, count + 1, clipped_norm, in.measured}, kInner);
  for (auto& [path, update] : out.updates) update = select(valid, update, 0);
  for (auto& [path, value] : out.state) value = select(valid, value, state.at(path));

  Tree<Tensor> next;
  put_subtree(next, kInner, std::move(out.state));
  const auto kept = [&](const char* name, const Tensor& value) {
    next.emplace(name, select(valid, value, in.state.at(name)));
  };
  const Tensor decay = debiased_decay(cfg_.norm_decay, astype(count, DType::kF32) + 1);
  kept("count", count + 1);
  kept("norm_mean", moving_mean(decay, in.state.at("norm_mean"), norm));
  kept("norm_square_mean", moving_mean(decay, in.state.at("norm_square_mean"), square(norm)));
  const Tensor skipped = in.state.at("skipped") + astype(logical_not(valid), DType::kI32);
  next.emplace("skipped", skipped);
  out.state = std::move(next);
  out.metrics.emplace("skipped_updates", astype(skipped, DType::kF32));
  return out;
}

Tree<UpdateSize> SkipAndClip::update_sizes() const {
  Tree<UpdateSize> out = inner_->update_sizes();
  // A gradient that was clipped has another size.
  if (cfg_.max_norm)
    std::erase_if(out, [](const auto& size) { return size.second.kind == UpdateKind::kGradient; });
  return out;
}

const CarryRule kSkipAndClipCarry(typeid(SkipAndClip), kInner, nullptr);

AXLE_REGISTER(FixedNorm)
AXLE_REGISTER(TimesMeanNorm)
AXLE_REGISTER(MeanPlusDeviations)
AXLE_REGISTER(SkipAndClip)

}  // namespace axle
