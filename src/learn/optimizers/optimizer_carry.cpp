// What an optimizer takes from the one that it replaces, where the names of fields do not say
// it.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "config/carry.h"
#include "config/walk.h"
#include "learn/optimizer.h"
#include "learn/schedules/schedules.h"
#include "learn/weight_decay.h"

namespace axle {
namespace {

template <class T>
T* field_named(const AnyConfig& config, std::string_view name) {
  for (const Slot& slot : children_of(config)) {
    if (slot.name == name && *slot.ops->type == typeid(T)) return static_cast<T*>(slot.at);
  }
  return nullptr;
}

bool is_one(const Schedule& schedule) {
  const auto* const rate = schedule.functor() ? schedule.functor().get_if<ConstantRate>() : nullptr;
  return rate && rate->value == 1;
}

// For optimizers that lack them, puts the schedule of the whole update into the learning rate, and
// into the decay what it had instead of the rate.
void merge_schedules(const AnyConfig& old, const ConfigType& next) {
  auto* const rate = field_named<Schedule>(old, "learning_rate");
  auto* const update = field_named<Schedule>(old, "update_schedule");
  auto* const decay = field_named<NonNegative<double>>(old, "weight_decay");
  auto* const factor = field_named<DecayFactor>(old, "decay_factor");
  const auto has = [&](std::string_view name) {
    return std::ranges::find(next.fields, name, &Field::name) != next.fields.end();
  };
  if (!rate) return;
  const bool merges = update && !is_one(*update) && !has("update_schedule");
  const bool is_apart = decay && factor && *factor == DecayFactor::kOne;
  if (is_apart && (merges || !has("decay_factor"))) {
    if (const auto peak = peak_of(*rate); peak && *peak > 0) {
      *decay = std::stod(fmt::format("{:.12g}", *decay / *peak));  // 0.0316 for 3.16e-4 / 0.01
      *factor = DecayFactor::kLearningRate;
    }
  }
  if (!merges) return;
  *rate = product(*rate, *update);
  *update = ConstantRate{.value = 1};
}

}  // namespace

const CarryRule kOptimizerCarry(typeid(Optimizer), "", &merge_schedules);

}  // namespace axle
