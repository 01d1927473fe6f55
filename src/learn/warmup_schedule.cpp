#include "learn/warmup_schedule.h"

#include <fmt/format.h>

#include <numbers>

#include "base/error.h"
#include "config/register.h"
#include "learn/polynomial_schedule.h"
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
  const Polynomial fraction{.begin_step = warmup_steps, .end_step = end, .end_value = 1};
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

Tensor ConstantWithWarmup::operator()(const Step& step) const {
  return after_warmup(step, warmup_steps, begin, peak, scalar(*peak));
}

AXLE_REGISTER(CosineWithWarmup)
AXLE_REGISTER(LinearWithWarmup)
AXLE_REGISTER(ConstantWithWarmup)

}  // namespace axle
