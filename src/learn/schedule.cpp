#include "learn/schedule.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "ir/eval.h"
#include "ops/create.h"
#include "transform/trace.h"

namespace axle {

Tensor ConstantRate::operator()(const Step&) const { return scalar(value); }

void check_schedule(const Schedule& schedule, std::string_view where, const Bounds& bounds) {
  const auto value_at = [&](const Values& v) { return Values{schedule(v[0])}; };
  std::shared_ptr<const Region> graph;
  try {
    graph = trace(value_at, {Type{DType::kI32, {}}});
  } catch (const Error& error) {
    throw ConfigError(fmt::format("{}.{}", where, error.what()));
  }
  const Type& type = graph->results()[0].type();
  if (type != Type{DType::kF32, {}}) {
    throw ConfigError(
        fmt::format("{}: a schedule must give an f32 scalar, got {}", where, to_text(type)));
  }
  const double first = evaluate(*graph, {HostTensor(Shape{}, {int32_t{1}})})[0].at(0);
  if (!bounds.contain(first)) {
    throw ConfigError(fmt::format("{}: expected {} at step 1, got {}", where,
                                  range_text(bounds, LeafKind::kNumber), first));
  }
}

AXLE_REGISTER(ConstantRate)

}  // namespace axle
