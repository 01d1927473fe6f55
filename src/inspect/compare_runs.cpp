#include "inspect/compare_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "base/text/yaml.h"
#include "checkpoint/folder.h"
#include "config/walk.h"
#include "io/file.h"
#include "train/record/metrics_log.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char *kNoField = "(none)", *kNoConfig = "?";
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool is_run(const fs::path& dir) {
  return path_exists(metrics_file_of(dir)) ||
         (path_exists(config_file_of(dir)) && directory_exists(checkpoints_of(dir)));
}

// Returns the run itself, or those in the folder.
std::vector<fs::path> runs_in(const fs::path& dir) {
  if (!directory_exists(dir)) {
    throw ConfigError(fmt::format("{}: expected the folder of a run, got {}", dir.string(),
                                  path_exists(dir) ? "a file" : nothing_at(dir)));
  }
  if (is_run(dir)) return {dir};
  std::vector<fs::path> out;
  for (const fs::path& entry : list_directory(dir)) {
    if (directory_exists(entry) && is_run(entry)) out.push_back(entry);
  }
  if (out.empty()) {
    throw ConfigError(fmt::format(
        "{}: expected the folder of a run or a folder of runs, got one without metrics.jsonl and "
        "without such folders",
        dir.string()));
  }
  return out;
}

void add_config_fields(const Json& value, const std::string& path,
                       std::map<std::string, std::string>& out) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items())
      add_config_fields(inner, key == "class" ? path : join_config_path(path, key), out);
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i)
      add_config_fields(value[i], fmt::format("{}[{}]", path, i), out);
  } else {
    out[path] =
        value.is_string() ? value.get<std::string>() : (value.is_null() ? "none" : value.dump());
  }
}

void add_loss(LossCurve& curve, int64_t step, double loss) {
  if (curve.last_step == 0) curve.best = kNaN;
  curve.last_step = step;
  curve.last = loss;
  if (std::isfinite(loss) && !(loss >= curve.best)) {
    curve.best = loss;
    curve.best_step = step;
  }
}

std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::map<std::string, std::string> config_fields(const fs::path& dir, const Report& report) {
  std::map<std::string, std::string> out;
  const fs::path config = config_file_of(dir);
  std::string problem;
  try {
    if (path_exists(config)) {
      const Json fields = parse_yaml(read_file(config, kMaxConfigBytes), config.string());
      if (fields.is_object()) add_config_fields(fields, "", out);
    }
    if (out.empty())
      problem = fmt::format("{}: expected the config of the run, got {}", config.string(),
                            path_exists(config) ? "none" : nothing_at(config));
  } catch (const Error& error) {
    problem = error.what();
  }
  if (!problem.empty())
    report(fmt::format("WARNING: {}; compared without the config of {}", problem, dir.string()));
  return out;
}

RunSummary summary_of(const fs::path& dir, const Report& report) {
  RunSummary out{.dir = dir};
  std::vector<double> speeds;
  const fs::path metrics = metrics_file_of(dir);
  int64_t num_records = 0;
  for_each_record(metrics, [&](const StepRecord& record) {
    ++num_records;
    const auto value = [&](const char* name) {
      const auto it = record.values.find(name);
      return it == record.values.end() ? kNaN : it->second;
    };
    if (!record.values.contains("loss")) return;  // a line of the user's own
    add_loss(out.curves[record.split], record.step, value("loss"));
    if (const double secs = value("wall_secs"); std::isfinite(secs)) out.wall_secs = secs;
    const double speed = value("tokens_per_sec");
    if (record.split.empty() && std::isfinite(speed)) speeds.push_back(speed);
  });
  if (num_records == 0) {
    report(fmt::format("WARNING: {}: expected records of training, got {}; the run has no losses",
                       metrics.string(), path_exists(metrics) ? "none" : "no such file"));
  }
  out.tokens_per_sec = median(std::move(speeds));
  out.config = config_fields(dir, report);
  return out;
}

std::map<std::string, std::vector<std::string>> differences_of(
    const std::vector<RunSummary>& runs) {
  std::set<std::string> paths;
  for (const RunSummary& run : runs) {
    for (const auto& [path, value] : run.config) paths.insert(path);
  }
  std::map<std::string, std::vector<std::string>> out;
  for (const std::string& path : paths) {
    std::vector<std::string> values;
    std::set<std::string> known;
    for (const RunSummary& run : runs) {
      const auto it = run.config.find(path);
      values.push_back(it != run.config.end() ? it->second
                                              : (run.config.empty() ? kNoConfig : kNoField));
      if (!run.config.empty()) known.insert(values.back());
    }
    if (known.size() > 1) out.emplace(path, std::move(values));
  }
  return out;
}

// The runs whose configs could not be compared.
std::vector<std::string> runs_without_config(const std::vector<RunSummary>& runs) {
  std::vector<std::string> out;
  for (const RunSummary& run : runs)
    if (run.config.empty()) out.push_back(run.dir.string());
  return out;
}

std::string equal_text(const std::vector<RunSummary>& runs) {
  const std::vector<std::string> without = runs_without_config(runs);
  if (runs.size() - without.size() < 2)
    return fmt::format("the configs are not compared: there is none of {}\n", join(without, ", "));
  return without.empty() ? "the configs are equal\n"
                         : fmt::format("the configs are equal, compared without that of {}\n",
                                       join(without, ", "));
}

std::string loss_text(double loss) {
  return std::isfinite(loss) ? fmt::format("{:.4f}", loss) : "-";
}

// The cells of a curve: last loss, best loss and its step.
void add_cells(const RunSummary& run, const std::string& split, std::vector<std::string>& row) {
  const auto it = run.curves.find(split);
  const bool is_known = it != run.curves.end();
  row.push_back(is_known ? loss_text(it->second.last) : "-");
  row.push_back(is_known && std::isfinite(it->second.best)
                    ? fmt::format("{} at {}", loss_text(it->second.best), it->second.best_step)
                    : "-");
}

Json finite_json(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json curve_json(const LossCurve& curve) {
  return {{"last", finite_json(curve.last)},
          {"best", finite_json(curve.best)},
          {"best_step", std::isfinite(curve.best) ? Json(curve.best_step) : Json(nullptr)}};
}

}  // namespace

RunComparison compare_runs(const std::vector<fs::path>& dirs, const Report& report) {
  RunComparison out;
  for (const fs::path& dir : dirs) {
    for (const fs::path& run : runs_in(dir)) out.runs.push_back(summary_of(run, report));
  }
  out.differences = differences_of(out.runs);
  return out;
}

std::string to_text(const RunComparison& comparison) {
  std::set<std::string> splits;
  for (const RunSummary& run : comparison.runs) {
    for (const auto& [split, curve] : run.curves) splits.insert(split);
  }
  std::vector<std::string> header = {"run", "step", "loss", "best loss"};
  for (const std::string& split : splits) {
    if (!split.empty()) header.insert(header.end(), {split, "best " + split});
  }
  header.insert(header.end(), {"tokens/s", "time"});
  TextTable table(header);
  for (const RunSummary& run : comparison.runs) {
    const auto training = run.curves.find("");
    const bool has_steps = training != run.curves.end();
    std::vector<std::string> row = {run.dir.string(),
                                    has_steps ? grouped_digits(training->second.last_step) : "-"};
    add_cells(run, "", row);
    for (const std::string& split : splits) {
      if (!split.empty()) add_cells(run, split, row);
    }
    row.push_back(run.tokens_per_sec
                      ? grouped_digits(static_cast<int64_t>(std::llround(*run.tokens_per_sec)))
                      : "-");
    row.push_back(run.wall_secs > 0 ? duration_text(run.wall_secs) : "-");
    table.add(std::move(row));
  }
  std::string out = table.text();
  if (comparison.runs.size() < 2) return out;
  if (comparison.differences.empty()) return out + "\n" + equal_text(comparison.runs);
  std::vector<std::string> fields = {"field"};
  for (const RunSummary& run : comparison.runs) fields.push_back(run.dir.string());
  TextTable differences(fields);
  for (const auto& [path, values] : comparison.differences) {
    std::vector<std::string> row = {path};
    row.insert(row.end(), values.begin(), values.end());
    differences.add(std::move(row));
  }
  return out + "\n" + differences.text();
}

Json to_json(const RunComparison& comparison) {
  Json runs = Json::array();
  for (const RunSummary& run : comparison.runs) {
    Json row = {{"dir", run.dir.string()}, {"step", nullptr}, {"loss", nullptr}};
    row["evaluations"] = Json::object();
    for (const auto& [split, curve] : run.curves) {
      if (!split.empty()) {
        row["evaluations"][split] = curve_json(curve);
        continue;
      }
      row["step"] = curve.last_step;
      row["loss"] = curve_json(curve);
    }
    row["tokens_per_sec"] = run.tokens_per_sec ? Json(*run.tokens_per_sec) : Json(nullptr);
    row["wall_secs"] = run.wall_secs > 0 ? Json(run.wall_secs) : Json(nullptr);
    runs.push_back(std::move(row));
  }
  const std::vector<std::string> without = runs_without_config(comparison.runs);
  const bool are_compared =
      comparison.runs.size() < 2 || comparison.runs.size() - without.size() >= 2;
  return {{"runs", std::move(runs)},
          {"differences", are_compared ? Json(comparison.differences) : Json(nullptr)},
          {"without_config", without}};
}

}  // namespace axle
