#include "learn/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/lists.h"
#include "config/register.h"
#include "config/walk.h"
#include "ir/eval.h"
#include "ir/host_tensor.h"
#include "learn/schedules/schedules.h"
#include "ops/create.h"
#include "transform/trace.h"

namespace axle {

namespace {

template <class T>
T* field_of(const AnyConfig& config, std::string_view name) {
  for (const Slot& slot : children_of(config)) {
    if (slot.name == name && *slot.ops->type == typeid(T)) return static_cast<T*>(slot.at);
  }
  return nullptr;
}

// For a schedule that is 0 at run_steps, returns the first step from which it stays 0. A schedule
// that is 0 once must stay 0.
int64_t first_zero(const Schedule& schedule, int64_t run_steps) {
  int64_t low = 0, high = run_steps;  // low: not 0, or before step 1; high: 0
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (value_at(schedule, middle) == 0 ? high : low) = middle;
  }
  return high;
}

// Returns a field of the schedule's config; null if the schedule has no such field.
template <class T>
const T* field_of_schedule(const Schedule& schedule, std::string_view name) {
  return schedule.functor() ? field_of<T>(schedule.functor(), name) : nullptr;
}
const Positive<int64_t>* end_step(const Schedule& schedule) {
  return field_of_schedule<Positive<int64_t>>(schedule, "end_step");
}
const std::optional<Positive<int64_t>>* max_step(const Schedule& schedule) {
  return field_of_schedule<std::optional<Positive<int64_t>>>(schedule, "max_step");
}

// What to do about a schedule that ends before its run.
std::string_view remedy(const Schedule& schedule) {
  if (max_step(schedule)) return "; a schedule without max_step ends with its run";
  return end_step(schedule) ? "; set end_step" : "";
}

std::string ended_text(const Schedule& schedule, int64_t end, int64_t run_steps) {
  return fmt::format("ends at step {} of a run of {} and stays at {:.4g}{}", end, run_steps,
                     value_at(schedule, run_steps), remedy(schedule));
}

// Returns a message if a schedule with a field `end_step` has fallen to its end value before the
// run ends, else "". A schedule that rises to its end is a warm-up and is not reported.
std::string why_fallen(const Schedule& schedule, int64_t run_steps) {
  const auto* const end = end_step(schedule);
  if (!end || *end >= run_steps || value_at(schedule, *end) >= value_at(schedule, 1)) return {};
  return ended_text(schedule, *end, run_steps);
}

std::string why_early(const Schedule& schedule, int64_t run_steps) {
  const auto* const end = max_step(schedule);
  if (end && *end && **end >= run_steps) return {};
  if (run_steps > 1 && value_at(schedule, run_steps) == 0 &&
      value_at(schedule, run_steps - 1) == 0) {
    // A curve that ends with the run may round to 0 in its last steps.
    constexpr int64_t kRounded = 1000;
    const int64_t zero = first_zero(schedule, run_steps);
    if (run_steps - zero <= run_steps / kRounded) return {};
    return fmt::format("is 0 from step {} on in a run of {}{}", zero, run_steps, remedy(schedule));
  }
  if (!end || !*end) return why_fallen(schedule, run_steps);
  return ended_text(schedule, **end, run_steps);
}

std::string why_late(const Schedule& schedule, int64_t run_steps) {
  const auto* const warmup = field_of_schedule<NonNegative<int64_t>>(schedule, "warmup_steps");
  if (!warmup || *warmup < run_steps) return {};
  return fmt::format("its warm-up of {} steps takes the whole run of {}; set warmup_steps",
                     int64_t{*warmup}, run_steps);
}

// Skips the schedules inside of Segments and Stepwise, which do not count the steps of the run.
class StepsOfTheRun {
 public:
  /// True if what is at `path` counts them. Must see the slots of a tree in the order of walk().
  bool counts(const std::string& path, const Slot& slot) {
    if (!inside_.empty() && path.starts_with(inside_)) return false;
    if (const Schedule* const schedule = schedule_in(slot)) {
      const AnyConfig& functor = schedule->functor();
      if (functor && (functor.get_if<Segments>() || functor.get_if<Stepwise>()))
        inside_ = path + ".";
    }
    return true;
  }
  static const Schedule* schedule_in(const Slot& slot) {
    const Slot inner = unwrap(slot);
    const bool holds = inner.ops->kind == FieldKind::kFn && *inner.ops->type == typeid(Schedule);
    return holds ? static_cast<const Schedule*>(inner.at) : nullptr;
  }

 private:
  std::string inside_;
};

}  // namespace

void set_schedule_ends(ConfigRef root, int64_t run_steps) {
  StepsOfTheRun of_run;
  walk(root, [&](const std::string& path, const Slot& slot) {
    const AnyConfig* const held = held_config(slot);
    if (!of_run.counts(path, slot) || !held) return;
    auto* const end = field_of<std::optional<Positive<int64_t>>>(*held, "max_step");
    if (!end || *end) return;
    const auto* const warmup = field_of<NonNegative<int64_t>>(*held, "warmup_steps");
    *end = std::max(run_steps, saturating_sum(warmup ? int64_t{*warmup} : 0, 1));
  });
}

void keep_schedule_ends(ConfigRef root, ConfigRef from) {
  using End = std::optional<Positive<int64_t>>;
  const auto each_end = [](ConfigRef tree, const auto& fn) {
    StepsOfTheRun of_run;
    walk(tree, [&](const std::string& path, const Slot& slot) {
      const AnyConfig* const held = held_config(slot);
      if (!of_run.counts(path, slot) || !held) return;
      if (auto* const end = field_of<End>(*held, "max_step")) fn(path, *end);
    });
  };
  std::map<std::string, End> ends;
  each_end(from, [&](const std::string& path, const End& end) { ends[path] = end; });
  each_end(root, [&](const std::string& path, End& end) {
    if (!end && ends.contains(path)) end = ends.at(path);
  });
}

std::map<std::string, double> schedule_values(ConfigRef root, int64_t step,
                                              std::string_view root_name) {
  std::map<std::string, double> out;
  StepsOfTheRun of_run;
  const auto look = [&](const std::string& path, const Slot& slot) {
    const Schedule* const schedule = StepsOfTheRun::schedule_in(slot);
    if (!of_run.counts(path, slot) || !schedule || !*schedule) return;
    try {
      out.emplace(path, value_at(*schedule, step));
    } catch (const Error&) {  // the learner says why when it is built
    }
  };
  walk(root, look, {}, root_name);
  return out;
}

std::set<int64_t> schedule_turns(ConfigRef root) {
  std::set<int64_t> out;
  StepsOfTheRun of_run;
  walk(root, [&](const std::string& path, const Slot& slot) {
    const Schedule* const schedule = StepsOfTheRun::schedule_in(slot);
    if (!of_run.counts(path, slot) || !schedule || !*schedule) return;
    const std::set<int32_t> steps = probing_steps(*schedule);
    out.insert(steps.begin(), steps.end());
  });
  return out;
}

std::vector<std::string> schedule_problems(ConfigRef root, int64_t run_steps,
                                           std::string_view root_name) {
  std::vector<std::string> out;
  StepsOfTheRun of_run;
  const auto look = [&](const std::string& path, const Slot& slot) {
    const Schedule* const schedule = StepsOfTheRun::schedule_in(slot);
    if (!of_run.counts(path, slot) || !schedule || !*schedule) return;
    for (const std::string& why :
         {why_late(*schedule, run_steps), why_early(*schedule, run_steps)}) {
      if (!why.empty()) out.push_back(fmt::format("{}: {}", path, why));
    }
  };
  walk(root, look, {}, root_name);
  return out;
}

Tensor ConstantRate::operator()(const Step&) const { return scalar(value); }

void check_schedule(const Schedule& schedule, std::string_view where, const Bounds& bounds) {
  const auto traced = [&](const Values& v) { return Values{schedule(v[0])}; };
  std::shared_ptr<const Region> graph;
  try {
    graph = trace(traced, {Type{DType::kI32, {}}});
  } catch (const Error& error) {
    throw ConfigError(fmt::format("{}.{}", where, error.what()));
  }
  const Type& type = graph->results()[0].type();
  if (type != Type{DType::kF32, {}}) {
    throw ConfigError(
        fmt::format("{}: a schedule must give an f32 scalar, got {}", where, to_text(type)));
  }
  std::map<int32_t, double> values;
  double largest = 0;
  for (const int32_t step : probing_steps(schedule)) {
    const double value = evaluate(*graph, {HostTensor(Shape{}, {step})})[0].at(0);
    values[step] = value;
    largest = std::max(largest, std::abs(value));
  }
  // f32 rounding may move the value at the end of a curve slightly outside the bounds.
  const double rounding = 4.0 * std::numeric_limits<float>::epsilon() * largest;
  for (const auto& [step, value] : values) {
    if (bounds.contain(value) || bounds.contain(value - rounding) ||
        bounds.contain(value + rounding))
      continue;
    throw ConfigError(fmt::format("{}: expected {} at step {}, got {}", where,
                                  range_text(bounds, /*is_integer=*/false), step, value));
  }
}

AXLE_REGISTER(ConstantRate)

double value_at(const Schedule& schedule, int64_t step) {
  const auto fn = [&](const Values& v) { return Values{schedule(Step(v[0]))}; };
  return eval(fn, {HostTensor::scalar(static_cast<int32_t>(step))})[0].at(0);
}

std::set<int32_t> probing_steps(const Schedule& schedule) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  std::set<int64_t> turns = {1};
  if (schedule.functor()) {
    walk(schedule.functor(), [&](const std::string& path, const Slot& slot) {
      const Slot field = unwrap(slot);
      const bool is_integer =
          field.ops->kind == FieldKind::kLeaf && field.ops->leaf == LeafKind::kInteger;
      if (is_integer && (path.ends_with("_step") || path.ends_with("_steps")))
        turns.insert(
            static_cast<int64_t>(std::clamp(field.ops->number(field.at), 1.0, 1.0 * kMax)));
    });
  }
  std::set<int32_t> out;
  int64_t before = 1;
  for (const int64_t turn : turns) {
    for (const int64_t step : {before + (turn - before) / 2, turn - 1, turn, turn + 1})
      out.insert(static_cast<int32_t>(std::clamp<int64_t>(step, 1, kMax)));
    before = turn;
  }
  return out;
}

}  // namespace axle
