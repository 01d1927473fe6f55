// Every optimizer replaces every recipe's optimizer by its name alone, and keeps its rates.
#include <gmock/gmock.h>

#include <cmath>

#include "base/error.h"
#include "config/missing.h"
#include "config/print.h"
#include "config/registry.h"
#include "config/set.h"
#include "config/walk.h"
#include "learn/optimizer.h"
#include "learn/schedule.h"
#include "learn/weight_decay.h"
#include "recipes/recipe.h"

namespace axle {
namespace {

constexpr int64_t kRunSteps = 100'000;

Trainer::Config with_optimizer(const std::string& name, const std::string& optimizer) {
  Trainer::Config out = recipe(name);
  set(out, "learner.optimizer", optimizer);
  return out;
}

// What one optimizer does at one step.
struct Rates {
  double rate = 0;   // of the direction
  double decay = 0;  // the fraction of a weight that the step subtracts
};

template <class T>
const T* field(const AnyConfig& config, std::string_view name) {
  for (const Slot& slot : children_of(config)) {
    if (slot.name == name && *slot.ops->type == typeid(T)) return static_cast<T*>(slot.at);
  }
  return nullptr;
}

// Returns the rates of all optimizers that have some, by their paths below the learner.
std::map<std::string, Rates> rates_at(Trainer::Config config, int64_t step) {
  Learner::Config& learner = *config.learner.get_if<Learner>();
  set_schedule_ends(learner, kRunSteps);
  std::map<std::string, Rates> out;
  walk(learner, [&](const std::string& path, const Slot& slot) {
    const AnyConfig* const held = held_config(slot);
    const auto* const rate = held ? field<Schedule>(*held, "learning_rate") : nullptr;
    if (!rate) return;
    const auto* const update = field<Schedule>(*held, "update_schedule");
    const auto* const decay = field<NonNegative<double>>(*held, "weight_decay");
    const auto* const factor = field<DecayFactor>(*held, "decay_factor");
    const double scale = update ? value_at(*update, step) : 1;
    Rates& at = out[path];
    at.rate = scale * value_at(*rate, step);
    at.decay =
        (decay ? double{*decay} : 0) * (factor && *factor == DecayFactor::kOne ? scale : at.rate);
  });
  return out;
}

TEST(OptimizersOfRecipes, AnyOptimizerReplacesTheOldOne) {
  int64_t count = 0;
  for (const std::string& name : recipe_names()) {
    const Tree<ParamSpec> specs =
        recipe(name).model.build({}, Scope{.path = "model"})->param_specs();
    for (const std::string& optimizer : names_of(typeid(Optimizer))) {
      SCOPED_TRACE(name + " " + optimizer);
      const Trainer::Config config = with_optimizer(name, optimizer);
      EXPECT_THAT(missing(config.learner.any()), ::testing::IsEmpty());
      EXPECT_NO_THROW(config.learner.build({.params = specs, .run_steps = kRunSteps},
                                           Scope{.path = "learner"}));
      ++count;
    }
  }
  EXPECT_GT(count, 64 * 12);
}

// A recipe of each kind of rates, and what they are when the warm-up ends and in the last step.
struct RateKind {
  std::string recipe;
  int64_t warmup_steps;
  double peak, last;  // of the rates
  double linear = 0;  // the peak of the group of linear layers; 0: no such group
};
const std::vector<RateKind> kKinds = {
    {"quickstart", 50, 0.003, 0},                         // a cosine
    {"gala-test", 2000, 6e-4, 6e-5},                      // a constant, with an update_schedule
    {"gala-1B", 5000, 0.01, 0.001, 0.00375},              // that, in groups
    {"honeycrisp-3B", 5000, 0.01, 5e-5, 0.0025},          // groups inside of SkipAndClip
    {"gspmd-16B", 10'000, 1e-5, 1e-5 / std::sqrt(10.0)},  // an inverse square root
};

// Those around another one keep all of it; ScheduleFree takes the falls away.
TEST(OptimizersOfRecipes, WrappersKeepTheOldRates) {
  for (const RateKind& kind : kKinds) {
    for (const std::string optimizer : {"SkipAndClip", "OptimizerGroups", "ScheduleFree"}) {
      SCOPED_TRACE(kind.recipe + " " + optimizer);
      const Trainer::Config before = recipe(kind.recipe);
      const Trainer::Config config = with_optimizer(kind.recipe, optimizer);
      const bool is_free = optimizer == "ScheduleFree";
      for (const int64_t step : {kind.warmup_steps / 2, kind.warmup_steps, kRunSteps}) {
        // After the warm-up, a rate without a fall is what it was at the end of the warm-up.
        const auto old = rates_at(before, is_free ? std::min(step, kind.warmup_steps) : step);
        const auto now = rates_at(config, step);
        ASSERT_EQ(now.size(), old.size());
        EXPECT_EQ(now.size(), kind.linear > 0 ? 2u : 1u);
        for (auto a = old.begin(), b = now.begin(); a != old.end(); ++a, ++b) {
          EXPECT_NEAR(b->second.rate, a->second.rate, 1e-6 * kind.peak) << b->first << " " << step;
          EXPECT_NEAR(b->second.decay, a->second.decay, 1e-6) << b->first << " " << step;
          if (step < kind.warmup_steps) continue;
          const bool is_linear = b->first.find("['linear']") != std::string::npos;
          const double peak = is_linear ? kind.linear : kind.peak;
          const double expected = step < kRunSteps || is_free ? peak : peak * kind.last / kind.peak;
          EXPECT_NEAR(b->second.rate, expected, 1e-6 * kind.peak) << b->first << " " << step;
        }
      }
    }
  }
}

// Others have one rate: that of the optimizer which updates what is in no group.
TEST(OptimizersOfRecipes, OtherOptimizersKeepTheRateAndTheDecay) {
  for (const RateKind& kind : kKinds) {
    for (const std::string& optimizer : names_of(typeid(Optimizer))) {
      const Trainer::Config config = with_optimizer(kind.recipe, optimizer);
      const bool is_around = optimizer == "SkipAndClip" || optimizer == "OptimizerGroups" ||
                             optimizer == "ScheduleFree";
      if (is_around) continue;
      SCOPED_TRACE(kind.recipe + " " + optimizer);
      for (const int64_t step : {kind.warmup_steps, kRunSteps}) {
        const double expected = step < kRunSteps ? kind.peak : kind.last;
        const auto before = rates_at(recipe(kind.recipe), step);
        const double decay = before.rbegin()->second.decay;  // "others" comes last
        for (const auto& [path, now] : rates_at(config, step)) {
          EXPECT_NEAR(now.rate, expected, 1e-6 * kind.peak) << path << " " << step;
          const bool decays = optimizer != "Adam";
          EXPECT_NEAR(now.decay, decays ? decay : 0, 1e-9) << path << " " << step;
        }
      }
    }
  }
}

// "b1 = 0: beta replaces it."
TEST(OptimizersOfRecipes, ScheduleFreeRemovesTheMomentum) {
  for (const auto& [name, fields] : std::map<std::string, std::vector<std::string>>{
           {"quickstart", {"inner.b1: 0.0", "inner.b2: 0.95"}},
           {"gala-1B", {"inner.others.b1: 0.0", "inner.groups['linear'].optimizer.b1: 0.0"}},
           {"honeycrisp-3B",
            {"inner.inner.others.update_mean: none", "inner.inner.others.gradient_mean: none"}},
           {"gspmd-16B", {"inner.b1: none", "inner.b2: AdafactorDecay"}}}) {
    const std::string text = to_string(with_optimizer(name, "ScheduleFree"));
    for (const std::string& field : fields)
      EXPECT_THAT(text, ::testing::HasSubstr("learner.optimizer." + field)) << name;
  }
}

}  // namespace
}  // namespace axle
