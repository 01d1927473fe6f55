#include "learn/schedules/schedules.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "base/error.h"
#include "config/carry.h"
#include "config/register.h"
#include "learn/schedule.h"
#include "learn/stateful_update.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"

namespace axle {
namespace {

// A run that no warm-up fills.
constexpr int64_t kLongRun = int64_t{1} << 30;
// Values are f32.
constexpr double kRounding = 1e-6;

// The curve at the steps where it may bend.
struct Curve {
  double first, peak, last;  // at step 1, the largest, after all
  int64_t peak_step;         // the first one with the peak
};

std::optional<Curve> curve_of(const Schedule& schedule) {
  Warmup ended{.schedule = schedule};
  set_schedule_ends(ended, kLongRun);
  try {
    // A fall begins at step 0.
    const double start = value_at(ended.schedule, 0);
    Curve out{.first = value_at(ended.schedule, 1),
              .peak = std::isfinite(start) ? start : 0,
              .last = 0,
              .peak_step = 0};
    for (const int32_t step : probing_steps(ended.schedule)) {
      const double value = value_at(ended.schedule, step);
      if (value > out.peak * (1 + kRounding)) {
        out.peak = value;
        out.peak_step = step;
      }
    }
    out.last = value_at(ended.schedule, std::numeric_limits<int32_t>::max());
    return out;
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

// Returns the number that a user would have written for an f32 value.
double decimal(double value) { return std::stod(fmt::format("{:.6g}", value)); }

// Returns the factor of a constant schedule; null for others.
const ConstantRate* constant(const Schedule& schedule) {
  return schedule.functor() ? schedule.functor().get_if<ConstantRate>() : nullptr;
}

// Multiplies the heights of a schedule of class C. Returns false if it has another class.
template <class C>
bool scale_peak(const AnyConfig& functor, double factor) {
  C* const schedule = functor.get_if<C>();
  // A height that is left open or would be 0 has no product.
  if (!schedule || !schedule->peak.has_value() || factor == 0) return false;
  schedule->peak = Positive<double>(*schedule->peak * factor);
  schedule->begin = schedule->begin * factor;
  if constexpr (requires { schedule->end; }) schedule->end = schedule->end * factor;
  return true;
}

Schedule scaled(const Schedule& schedule, const ConstantRate& factor) {
  if (factor.value == 1) return schedule;
  Schedule out = schedule;
  if (const AnyConfig& functor = out.functor()) {
    if (auto* const rate = functor.get_if<ConstantRate>()) {
      rate->value = rate->value * factor.value;
      return out;
    }
    if (scale_peak<CosineWithWarmup>(functor, factor.value) ||
        scale_peak<LinearWithWarmup>(functor, factor.value) ||
        scale_peak<WarmupStableDecay>(functor, factor.value) ||
        scale_peak<ConstantWithWarmup>(functor, factor.value))
      return out;
  }
  return ScheduleProduct{.factors = {factor, schedule}};
}

}  // namespace

std::optional<double> peak_of(const Schedule& schedule) {
  const std::optional<Curve> curve = curve_of(schedule);
  if (!curve) return std::nullopt;
  return decimal(curve->peak);
}

Schedule without_fall(const Schedule& schedule) {
  const std::optional<Curve> curve = curve_of(schedule);
  if (!curve || curve->last >= curve->peak * (1 - kRounding)) return schedule;
  ConstantWithWarmup out;
  if (schedule.functor()) {  // the fields of the same name, as they were written
    AnyConfig next = AnyConfig::of(out);
    carry_over(schedule.functor(), next, {});
    out = *next.get_if<ConstantWithWarmup>();
    if (out.peak.has_value()) return out;
  }
  if (curve->peak_step <= 1) return ConstantRate{.value = decimal(curve->peak)};
  out.peak = Positive<double>(decimal(curve->peak));
  out.warmup_steps = curve->peak_step;
  // A straight line to the peak goes through the value at step 1.
  const double part = 1.0 / static_cast<double>(curve->peak_step);
  const double begin = (curve->first - part * curve->peak) / (1 - part);
  out.begin = begin > kRounding * curve->peak ? decimal(begin) : 0;
  return out;
}

Schedule product(const Schedule& a, const Schedule& b) {
  if (const ConstantRate* const factor = constant(b)) return scaled(a, *factor);
  if (const ConstantRate* const factor = constant(a)) return scaled(b, *factor);
  return ScheduleProduct{.factors = {a, b}};
}

Tensor AdafactorDecay::operator()(const Step& step) const {
  const Tensor t = maximum(astype(step, DType::kF32) - double(begin_step), 1);
  return 1.0 - pow(t, scalar(-exponent));
}

Tensor DebiasedDecay::operator()(const Step& step) const {
  return debiased_decay(decay, astype(step, DType::kF32));
}

AXLE_REGISTER(AdafactorDecay)
AXLE_REGISTER(DebiasedDecay)

Tensor InverseSqrt::operator()(const Step& step) const {
  const auto last = static_cast<double>(warmup_steps);
  const Tensor t = astype(step, DType::kF32) - static_cast<double>(begin_step);
  const Tensor fall = scale * pow(maximum(t, last), scalar(-exponent));
  if (warmup == WarmupShape::kConstant) return fall;
  return fall * (minimum(maximum(t, 0), last) / last);
}

AXLE_REGISTER(InverseSqrt)

namespace {

// Returns the fraction of the way from begin_step to end_step: rises linearly from 0 to 1.
Tensor part_done(const Step& step, int64_t begin_step, int64_t end_step) {
  if (begin_step >= end_step) {
    throw ConfigError(
        fmt::format("end_step: must be after begin_step, got {} and {}", end_step, begin_step));
  }
  const Tensor since = astype(step, DType::kF32) - double(begin_step);
  return clamp(0, since / double(end_step - begin_step), 1);
}

}  // namespace

Tensor Polynomial::operator()(const Step& step) const {
  const Tensor done = part_done(step, begin_step, end_step);
  const Tensor part = power == 1 ? done : pow(done, scalar(power));
  return begin_value + part * (end_value - begin_value);
}

Tensor Exponential::operator()(const Step& step) const {
  const double begin = std::log(begin_value), end = std::log(end_value);
  return exp(begin + part_done(step, begin_step, end_step) * (end - begin));
}

AXLE_REGISTER(Polynomial)
AXLE_REGISTER(Exponential)

namespace {

// Throws the schedule's own mistakes below the path of its slot: "segments[1].schedule".
Tensor value_of(const Schedule& schedule, const Tensor& step, const std::string& slot) {
  try {
    return schedule(step);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}.{}", slot, error.what()));
  }
}

}  // namespace

Tensor Segments::operator()(const Step& step) const {
  if (segments.empty()) throw ConfigError("segments: expected at least one segment, got none");
  const Tensor t = astype(step, DType::kF32);
  Tensor value;
  double offset = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    const Tensor own = value_of(segments[i].schedule, maximum(t - offset, 1),
                                fmt::format("segments[{}].schedule", i));
    value = value ? select(t > offset, own, value) : own;
    const bool last = i + 1 == segments.size();
    if (last != !segments[i].num_steps) {
      throw ConfigError(fmt::format("segments[{}].num_steps: expected {}", i,
                                    last ? "none in the last segment, got a number"
                                         : "a number, got none before the last segment"));
    }
    if (!last) offset += static_cast<double>(*segments[i].num_steps);
  }
  return value;
}

Tensor Stepwise::operator()(const Step& step) const {
  if (stages.empty()) throw ConfigError("stages: expected at least one stage, got none");
  const Tensor t = astype(step, DType::kF32);
  Tensor value;
  for (size_t i = 0; i < stages.size(); ++i) {
    const int64_t begin = stages[i].begin_step, before = stages[i == 0 ? 0 : i - 1].begin_step;
    if (i == 0 ? begin != 0 : begin < before) {
      throw ConfigError(fmt::format("stages[{}].begin_step: expected {}, got {}", i,
                                    i == 0 ? "0" : fmt::format("at least {}", before), begin));
    }
    const auto first = static_cast<double>(begin);
    const Tensor own =
        value_of(stages[i].schedule, maximum(t - first, 0), fmt::format("stages[{}].schedule", i));
    value = value ? select(t >= first, own, value) : own;
  }
  return value;
}

Tensor Warmup::operator()(const Step& step) const {
  const Tensor value = value_of(schedule, step, "schedule");
  const double first = static_cast<double>(begin_step);
  const Tensor t = astype(step, DType::kF32) - first;
  if (warmup_steps == 0) return value * select(t > 0, full_like(t, 1), begin);
  const Tensor part = clamp(0, t / static_cast<double>(warmup_steps), 1);
  return value * (begin + part * (1 - begin));
}

Tensor ScheduleProduct::operator()(const Step& step) const {
  if (factors.empty()) throw ConfigError("factors: expected at least one schedule, got none");
  Tensor value;
  for (size_t i = 0; i < factors.size(); ++i) {
    const Tensor factor = value_of(factors[i], step, fmt::format("factors[{}]", i));
    value = value ? value * factor : factor;
  }
  return value;
}

AXLE_REGISTER(Segment)
AXLE_REGISTER(Segments)
AXLE_REGISTER(Stage)
AXLE_REGISTER(Stepwise)
AXLE_REGISTER(Warmup)
AXLE_REGISTER(ScheduleProduct)

namespace {

int64_t last_step(int64_t warmup_steps, const std::optional<Positive<int64_t>>& max_step) {
  if (!max_step)
    throw ConfigError(
        "max_step: expected the last step of the schedule, got none, and no run sets it");
  if (*max_step > warmup_steps) return *max_step;
  throw ConfigError(fmt::format("max_step: must be after the warm-up, got {} and warmup_steps = {}",
                                int64_t{*max_step}, warmup_steps));
}

Tensor after_warmup(const Step& step, int64_t warmup_steps, double begin, double peak,
                    const Tensor& rest) {
  if (warmup_steps == 0) return rest;
  const Polynomial ramp{.begin_value = begin, .end_step = warmup_steps, .end_value = peak};
  return select(astype(step, DType::kF32) < double(warmup_steps), ramp(step), rest);
}

}  // namespace

Tensor CosineWithWarmup::operator()(const Step& step) const {
  const int64_t end = last_step(warmup_steps, max_step);
  const int64_t fall = std::max<int64_t>(warmup_steps, decay_begin_step.value_or(0));
  if (fall >= end) {
    throw ConfigError(
        fmt::format("decay_begin_step: must be before max_step, got {} and {}", fall, end));
  }
  const Polynomial fraction{.begin_step = fall, .end_step = end, .end_value = 1};
  const Tensor half_cosine = 0.5 * (1 + cos(std::numbers::pi * fraction(step)));
  return after_warmup(step, warmup_steps, begin, peak, *peak * ((1 - alpha) * half_cosine + alpha));
}

Tensor LinearWithWarmup::operator()(const Step& step) const {
  const Polynomial fall{.begin_step = warmup_steps,
                        .begin_value = double{peak},
                        .end_step = last_step(warmup_steps, max_step),
                        .end_value = end};
  return after_warmup(step, warmup_steps, begin, peak, fall(step));
}

Tensor WarmupStableDecay::operator()(const Step& step) const {
  const int64_t end = last_step(warmup_steps, max_step), fall_begin = *decay_begin_step;
  if (fall_begin < warmup_steps || fall_begin >= end) {
    throw ConfigError(fmt::format(
        "decay_begin_step: must be from warmup_steps = {} on and before max_step = {}, got {}",
        int64_t{warmup_steps}, end, fall_begin));
  }
  const Polynomial fall{.begin_step = fall_begin,
                        .begin_value = double{peak},
                        .end_step = end,
                        .end_value = peak * alpha};
  return after_warmup(step, warmup_steps, begin, peak, fall(step));
}

Tensor ConstantWithWarmup::operator()(const Step& step) const {
  return after_warmup(step, warmup_steps, begin, peak, scalar(*peak));
}

AXLE_REGISTER(CosineWithWarmup)
AXLE_REGISTER(LinearWithWarmup)
AXLE_REGISTER(WarmupStableDecay)
AXLE_REGISTER(ConstantWithWarmup)

}  // namespace axle
