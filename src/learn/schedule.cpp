#include "learn/schedule.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "config/walk.h"
#include "ir/eval.h"
#include "ir/host_tensor.h"
#include "ops/create.h"
#include "transform/trace.h"

namespace axle {

namespace {

template <class T>
T* field_of(const AnyConfig& config, std::string_view name) {
  for (const Slot& slot : children_of(ConfigView(config).slot())) {
    if (slot.name == name && *slot.ops->type == typeid(T)) return static_cast<T*>(slot.at);
  }
  return nullptr;
}

double value_at(const Schedule& schedule, int64_t step) {
  const auto fn = [&](const Values& v) { return Values{schedule(Step(v[0]))}; };
  return eval(fn, {HostTensor::scalar(static_cast<int32_t>(step))})[0].at(0);
}

// Where a schedule that is 0 at the end becomes so, if it stays 0 from there.
int64_t first_zero(const Schedule& schedule, int64_t run_steps) {
  int64_t low = 0, high = run_steps;  // not 0, or not known; 0
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (value_at(schedule, middle) == 0 ? high : low) = middle;
  }
  return high;
}

std::string why_early(const Schedule& schedule, int64_t run_steps) {
  constexpr std::string_view kRemedy = "; a schedule without max_step ends with its run";
  const auto* const end = schedule.functor() ? field_of<std::optional<Positive<int64_t>>>(
                                                   schedule.functor(), "max_step")
                                             : nullptr;
  if (end && *end && **end >= run_steps) return {};
  if (run_steps > 1 && value_at(schedule, run_steps) == 0 &&
      value_at(schedule, run_steps - 1) == 0) {
    // The last of a curve that ends with the run may round to 0.
    constexpr int64_t kRounded = 1000;
    const int64_t zero = first_zero(schedule, run_steps);
    if (run_steps - zero <= run_steps / kRounded) return {};
    return fmt::format("0 from step {} on, of a run of {}{}", zero, run_steps, kRemedy);
  }
  if (!end || !*end) return {};
  return fmt::format("at its end from step {} on, of a run of {}, and stays {:.4g}{}",
                     int64_t{**end}, run_steps, value_at(schedule, run_steps), kRemedy);
}

std::string why_late(const Schedule& schedule, int64_t run_steps) {
  const auto* const warmup =
      schedule.functor() ? field_of<NonNegative<int64_t>>(schedule.functor(), "warmup_steps")
                         : nullptr;
  if (!warmup || *warmup < run_steps) return {};
  return fmt::format("its warm-up of {} steps takes the whole run of {}; set warmup_steps",
                     int64_t{*warmup}, run_steps);
}

}  // namespace

void tie_to_run(ConfigRef root, int64_t run_steps) {
  walk(root, [&](const std::string&, const Slot& slot) {
    const AnyConfig* const held = held_config(slot);
    if (!held) return;
    auto* const end = field_of<std::optional<Positive<int64_t>>>(*held, "max_step");
    if (!end || *end) return;
    const auto* const warmup = field_of<NonNegative<int64_t>>(*held, "warmup_steps");
    *end = std::max(run_steps, (warmup ? int64_t{*warmup} : 0) + 1);
  });
}

std::vector<std::string> schedules_that_miss_the_run(ConfigRef root, int64_t run_steps,
                                                     std::string_view root_name) {
  std::vector<std::string> out;
  const auto look = [&](const std::string& path, const Slot& slot) {
    if (slot.ops->kind != FieldKind::kFn || *slot.ops->type != typeid(Schedule)) return;
    const auto& schedule = *static_cast<const Schedule*>(slot.at);
    if (!schedule) return;
    for (const std::string& why : {why_late(schedule, run_steps), why_early(schedule, run_steps)}) {
      if (!why.empty()) out.push_back(fmt::format("{}: {}", path, why));
    }
  };
  walk(root, look, {}, root_name);
  return out;
}

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
