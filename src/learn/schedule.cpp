#include "learn/schedule.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "ops/create.h"
#include "transform/trace.h"

namespace axle {

Tensor ConstantRate::operator()(const Tensor&) const { return scalar(value); }

void check_schedule(const Schedule& schedule, std::string_view where) {
  const auto value_at = [&](const Values& v) { return Values{schedule(v[0])}; };
  Type type;
  try {
    type = trace(value_at, {Type{DType::kI32, {}}})->results()[0].type();
  } catch (const Error& error) {
    throw ConfigError(fmt::format("{}.{}", where, error.what()));
  }
  if (type != Type{DType::kF32, {}}) {
    throw ConfigError(
        fmt::format("{}: a schedule must give an f32 scalar, got {}", where, to_text(type)));
  }
}

AXLE_REGISTER(ConstantRate)

}  // namespace axle
