#include "learn/schedules/warmup_schedule.h"

#include <fmt/format.h>

#include <numbers>

#include "base/error.h"
#include "config/register.h"
#include "learn/schedules/polynomial_schedule.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/trigonometry.h"

namespace axle {
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
