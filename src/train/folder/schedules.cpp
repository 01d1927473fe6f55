#include "train/folder/schedules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text/yaml.h"
#include "config/serialize.h"
#include "learn/schedule.h"
#include "train/folder/run_folder.h"

namespace axle {
namespace {

// Returns the config with the ends of its schedules written out; none if the text is no config.
std::optional<Trainer::Config> config_with_ends(const std::string& text) {
  if (text.empty()) return {};
  try {
    Trainer::Config config;
    from_json(config, parse_yaml(text, "config"));
    set_schedule_ends(config.learner, config.max_steps);
    return config;
  } catch (const ConfigError&) {
    return {};
  }
}

}  // namespace

Trainer::Config with_kept_schedules(Trainer::Config config, const std::filesystem::path& dir) {
  if (std::optional<Trainer::Config> saved = config_with_ends(newest_config(dir)))
    keep_schedule_ends(config.learner, saved->learner);
  return config;
}

namespace {

bool are_equal(double a, double b) {
  constexpr double kRounding = 1e-6;
  return std::abs(a - b) <= kRounding * std::max(std::abs(a), std::abs(b));
}

// The schedules of a saved run and of the one that goes on from it.
class TwoPlans {
 public:
  TwoPlans(Trainer::Config saved, const Trainer::Config& config)
      : saved_(std::move(saved.learner)),
        now_(config.learner),
        kept_(config.learner),
        saved_steps_(saved.max_steps),
        steps_(config.max_steps) {
    set_schedule_ends(now_, steps_);
    set_schedule_ends(kept_, saved_steps_);
  }

  // Returns a line for each schedule that differs after `step`.
  std::vector<std::string> differences_after(int64_t step) {
    std::vector<std::string> out;
    for (const auto& [path, last] : at(saved_, step)) {
      const std::optional<int64_t> first = first_difference(path, step);
      if (!first) continue;
      const std::string before =
          *first == step + 1 ? fmt::format("{:.4g} at step {}, then ", last, step) : "";
      out.push_back(fmt::format("{}: {}{:.4g} at step {}, where it was to be {:.4g}: {}", path,
                                before, at(now_, *first).at(path), *first,
                                at(saved_, *first).at(path), reason(path, *first)));
    }
    return out;
  }

 private:
  using Values = std::map<std::string, double>;

  static Values at(Child<Learner>& learner, int64_t step) {
    return schedule_values(learner, step, "learner");
  }
  // True if both runs have the schedule, with other values.
  bool differs(const std::string& path, int64_t step) {
    const Values then = at(saved_, step), now = at(now_, step);
    return then.contains(path) && now.contains(path) && !are_equal(then.at(path), now.at(path));
  }
  // Looks at the next step, at those where a schedule may turn, and at some between.
  std::set<int64_t> probes_after(int64_t step) {
    constexpr int64_t kEven = 16;
    std::set<int64_t> out = schedule_turns(saved_);
    out.merge(schedule_turns(now_));
    for (int64_t i = 0; i <= kEven; ++i)
      out.insert(step + 1 +
                 static_cast<int64_t>(static_cast<double>(steps_ - step - 1) *
                                      static_cast<double>(i) / kEven));
    std::erase_if(out, [&](int64_t probe) { return probe <= step || probe > steps_; });
    return out;
  }
  // Returns the first step of the run after `step` at which the schedule differs.
  std::optional<int64_t> first_difference(const std::string& path, int64_t step) {
    int64_t same = step;
    for (int64_t high : probes_after(step)) {
      if (!differs(path, high)) {
        same = high;
        continue;
      }
      while (high - same > 1) {
        const int64_t middle = same + (high - same) / 2;
        (differs(path, middle) ? high : same) = middle;
      }
      return high;
    }
    return {};
  }
  // The length of the run is the reason if the schedule would go on as before with the saved one:
  // that is what --schedule keep gives.
  std::string reason(const std::string& path, int64_t step) {
    const Values kept = at(kept_, step);
    const bool is_moved = saved_steps_ != steps_ && kept.contains(path) &&
                          are_equal(kept.at(path), at(saved_, step).at(path));
    if (!is_moved) return "the config has changed";
    return fmt::format(
        "the run has {} steps now, not {}; --schedule keep lets it go on from where it stands",
        steps_, saved_steps_);
  }

  Child<Learner> saved_, now_, kept_;
  int64_t saved_steps_, steps_;
};

}  // namespace

std::string with_written_ends(const std::string& config_text) {
  const std::optional<Trainer::Config> config = config_with_ends(config_text);
  return config ? to_yaml(*config) : config_text;
}

std::vector<std::string> schedule_jumps(const std::string& saved_config,
                                        const Trainer::Config& config, int64_t step) {
  std::optional<Trainer::Config> saved = config_with_ends(saved_config);
  if (!saved || step >= config.max_steps) return {};
  return TwoPlans(std::move(*saved), config).differences_after(step);
}

std::vector<std::string> schedule_warnings(const Trainer::Config& config) {
  Child<Learner> learner = config.learner;
  set_schedule_ends(learner, config.max_steps);
  return schedule_problems(learner, config.max_steps, "learner");
}

}  // namespace axle
