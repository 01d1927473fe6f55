#include "learn/schedules/schedule_curve.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/error.h"
#include "config/carry.h"
#include "learn/schedule_values.h"
#include "learn/schedules/segments_schedule.h"
#include "learn/schedules/warmup_schedule.h"

namespace axle {
namespace {

// A run that no warm-up fills.
constexpr int64_t kLongRun = int64_t{1} << 30;
// Values are f32.
constexpr double kRounding = 1e-6;

// The curve at the steps where it may turn.
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

}  // namespace axle
