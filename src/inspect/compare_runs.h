// Runs side by side: what they reached, how fast, and how their configs differ.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace axle {

/// The losses of a run's training or of one of its evaluations.
struct LossCurve {
  int64_t last_step = 0, best_step = 0;
  double last = 0, best = 0;  // NaN: no finite loss
};

/// What one run has logged so far.
struct RunSummary {
  std::filesystem::path dir;
  /// By split; "" is the training. Empty: nothing is logged yet.
  std::map<std::string, LossCurve> curves = {};
  /// Median over the training steps; none: no step is logged.
  std::optional<double> tokens_per_sec = {};
  /// Seconds that the run has taken.
  double wall_secs = 0;
  /// The fields of its config.yaml by path, as texts; classes stand at their slots. Empty: it
  /// cannot be read.
  std::map<std::string, std::string> config = {};
};

struct RunComparison {
  std::vector<RunSummary> runs;
  /// Values of the fields in which the configs differ, one for each run; "(none)": no such field,
  /// "?": the config cannot be read.
  std::map<std::string, std::vector<std::string>> differences;
};

/// Reads the runs in the given folders. A folder that is no run stands for the runs in it, in the
/// order of their names. Reports a config.yaml that is missing or no YAML to `report`. Throws
/// ConfigError for a folder that is no run and holds none.
RunComparison compare_runs(const std::vector<std::filesystem::path>& dirs,
                           const Report& report = report_to_stderr);

std::string to_text(const RunComparison& comparison);
/// {runs: [{dir, step, loss: {last, best, best_step}, evaluations: {name: the same},
/// tokens_per_sec, wall_secs}], differences: {path: [value of each run]}, without_config: [dirs of
/// runs whose config cannot be read]}; null stands for what is not known.
nlohmann::ordered_json to_json(const RunComparison& comparison);

}  // namespace axle
