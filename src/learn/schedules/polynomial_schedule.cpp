#include "learn/schedules/polynomial_schedule.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"

namespace axle {

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

}  // namespace axle
