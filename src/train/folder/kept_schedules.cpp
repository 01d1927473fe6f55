#include "train/folder/kept_schedules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>

#include "base/error.h"
#include "checkpoint/folder.h"
#include "checkpoint/read.h"
#include "checkpoint/run_files.h"
#include "config/document/serialize.h"
#include "config/document/yaml.h"
#include "learn/schedule.h"

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

// Returns the config of the newest checkpoint whose manifest is whole; "" if there is none.
std::string newest_config(const std::filesystem::path& root) {
  for (const int64_t step : checkpoint_steps(root) | std::views::reverse) {
    try {
      const StoredCheckpoint stored(root, step);
      const auto config = stored.manifest().metadata.find("config");
      return config == stored.manifest().metadata.end() ? "" : config->second;
    } catch (const StorageError&) {  // the resume reports it
    }
  }
  return {};
}

}  // namespace

Trainer::Config with_kept_schedules(Trainer::Config config, const std::filesystem::path& dir) {
  if (std::optional<Trainer::Config> saved = config_with_ends(newest_config(checkpoints_of(dir))))
    keep_schedule_ends(config.learner, saved->learner);
  return config;
}

namespace {

bool are_equal(double a, double b) {
  constexpr double kRounding = 1e-6;
  return std::abs(a - b) <= kRounding * std::max(std::abs(a), std::abs(b));
}

}  // namespace

std::string with_written_ends(const std::string& config_text) {
  const std::optional<Trainer::Config> config = config_with_ends(config_text);
  return config ? to_yaml(*config) : config_text;
}

std::vector<std::string> schedule_jumps(const std::string& saved_config,
                                        const Trainer::Config& config, int64_t step) {
  std::optional<Trainer::Config> saved = config_with_ends(saved_config);
  if (!saved || step >= config.max_steps) return {};
  Child<Learner> learner = config.learner;
  set_schedule_ends(learner, config.max_steps);
  const auto at = [](Child<Learner>& of, int64_t which) {
    return schedule_values(of, which, "learner");
  };
  const auto last = at(saved->learner, step), planned = at(saved->learner, step + 1),
             next = at(learner, step + 1);
  // The values if the run's length had not changed: what --schedule keep would give.
  Child<Learner> unmoved = config.learner;
  set_schedule_ends(unmoved, saved->max_steps);
  const auto kept = at(unmoved, step + 1);
  std::vector<std::string> out;
  for (const auto& [path, value] : next) {
    if (!last.contains(path) || !planned.contains(path)) continue;
    const double expected = planned.at(path);
    if (are_equal(value, expected)) continue;
    const bool is_moved = saved->max_steps.get() != config.max_steps.get() && kept.contains(path) &&
                          are_equal(kept.at(path), expected);
    out.push_back(fmt::format(
        "{}: {:.4g} at step {}, then {:.4g} at step {}, where it was to be {:.4g}: {}", path,
        last.at(path), step, value, step + 1, expected,
        is_moved ? fmt::format("the run has {} steps now, not {}; --schedule keep lets it go on "
                               "from where it stands",
                               int64_t{config.max_steps.get()}, int64_t{saved->max_steps.get()})
                 : "the config has changed"));
  }
  return out;
}

}  // namespace axle
