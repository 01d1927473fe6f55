#include "learn/polynomial_schedule.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "ops/arithmetic.h"
#include "ops/compare.h"
#include "ops/convert.h"
#include "ops/create.h"
#include "ops/exponential.h"

namespace axle {

Tensor Polynomial::operator()(const Tensor& step) const {
  if (begin_step >= end_step) {
    throw ConfigError(
        fmt::format("end_step: must be after begin_step, got {} and {}", end_step, begin_step));
  }
  const Tensor since = astype(step, DType::kF32) - double(begin_step);
  const Tensor fraction = clamp(0, since / double(end_step - begin_step), 1);
  const Tensor part = power == 1 ? fraction : pow(fraction, scalar(power));
  return begin_value + part * (end_value - begin_value);
}

Tensor Exponential::operator()(const Tensor& step) const {
  if (begin_value <= 0 || end_value <= 0) {
    throw ConfigError(fmt::format("{}: must be positive, got {}",
                                  begin_value <= 0 ? "begin_value" : "end_value",
                                  begin_value <= 0 ? begin_value : end_value));
  }
  const Polynomial logarithm{.begin_step = begin_step,
                             .begin_value = std::log(begin_value),
                             .end_step = end_step,
                             .end_value = std::log(end_value)};
  return exp(logarithm(step));
}

AXLE_REGISTER(Polynomial)
AXLE_REGISTER(Exponential)

}  // namespace axle
