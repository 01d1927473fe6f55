#include "learn/schedules/segments_schedule.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"

namespace axle {
namespace {

// Throws the schedule's own mistakes below the path of its slot.
Tensor value_of(const Schedule& schedule, const Tensor& step, std::string_view list, size_t i) {
  try {
    return schedule(step);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}[{}].schedule.{}", list, i, error.what()));
  }
}

}  // namespace

Tensor Segments::operator()(const Step& step) const {
  if (segments.empty()) throw ConfigError("segments: expected at least one segment, got none");
  const Tensor t = astype(step, DType::kF32);
  Tensor value;
  double offset = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    const Tensor own = value_of(segments[i].schedule, maximum(t - offset, 1), "segments", i);
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
    const Tensor own = value_of(stages[i].schedule, maximum(t - first, 0), "stages", i);
    value = value ? select(t >= first, own, value) : own;
  }
  return value;
}

Tensor Warmup::operator()(const Step& step) const {
  const Tensor value = schedule(step);
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
    try {
      const Tensor factor = factors[i](step);
      value = value ? value * factor : factor;
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("factors[{}].{}", i, error.what()));
    }
  }
  return value;
}

AXLE_REGISTER(Segment)
AXLE_REGISTER(Segments)
AXLE_REGISTER(Stage)
AXLE_REGISTER(Stepwise)
AXLE_REGISTER(Warmup)
AXLE_REGISTER(ScheduleProduct)

}  // namespace axle
