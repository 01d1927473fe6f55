#include "learn/optimizers/skip_and_clip.h"

#include <limits>

#include "config/carry.h"
#include "config/register.h"
#include "learn/moments.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/elementwise/rounding.h"

namespace axle {
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
    : cfg_(cfg), inner_(cfg.inner.build_part(dims, part_scope(scope, kInner))) {}

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
