#include "train/metrics_log.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "base/report.h"

namespace axle {
namespace {

struct LoggedLine {
  int64_t step = 0;
  std::string split = {};  // empty in lines of training
};

// None for what is no line of ours, or half of one.
std::optional<LoggedLine> read_line(std::string_view text) {
  try {
    const auto document = read_json(text);
    const JsonView json(document);
    LoggedLine out{.step = json.at("step").integer(0, std::numeric_limits<int64_t>::max())};
    if (const auto split = json.find("split")) out.split = split->text();
    return out;
  } catch (const JsonError&) {
    return std::nullopt;
  }
}

}  // namespace

MetricsLog::MetricsLog(const Dims& dims)
    : restored_step_(dims.restored_step),
      evaluated_(cut_metrics_log(dims.dir / "metrics.jsonl", dims.restored_step).last_splits),
      file_(dims.dir / "metrics.jsonl", WriteMode::kAppend) {}

MetricsLog::~MetricsLog() {
  if (num_lost_ > 0)
    report_to_stderr(fmt::format("axle: {}: {} lines were lost", file_.path().string(), num_lost_));
}

void MetricsLog::write(const StepRecord& record) {
  if (record.step == restored_step_ && evaluated_.contains(record.split)) return;
  check_in_place();
  if (removed_) {  // the run is ending
    ++num_lost_;
    return;
  }
  nlohmann::ordered_json line;
  line["step"] = record.step;
  if (!record.split.empty()) line["split"] = record.split;
  for (const auto& [name, value] : record.values)
    line[name] = value;  // non-finite numbers become null
  try {
    file_.write((torn_ ? "\n" : "") + line.dump() + "\n");
    torn_ = false;
  } catch (const StorageError& error) {
    torn_ = true;
    if (num_lost_++ == 0)
      report_to_stderr(
          fmt::format("axle: {}; metrics are being lost, training goes on", error.what()));
  }
}

void MetricsLog::check_in_place() {
  if (removed_ || file_.is_in_place()) return;
  removed_ = true;
  throw StorageError(
      fmt::format("{}: expected the file that this run writes, got it removed or replaced; run the "
                  "same command to go on with a new one",
                  file_.path().string()));
}

// Lines are in the file already; this brings them to the disk, where a failure loses none.
void MetricsLog::flush() {
  check_in_place();
  try {
    file_.sync();
  } catch (const StorageError&) {
  }
}

KeptLines cut_metrics_log(const std::filesystem::path& path, int64_t last_step) {
  KeptLines out;
  if (!path_exists(path)) return out;
  const std::string text = read_file(path, std::numeric_limits<int64_t>::max());
  std::string kept;
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const auto line = std::string_view(text).substr(begin, end + 1 - begin);
    const auto logged = read_line(line);
    if (!logged || logged->step > last_step) continue;
    if (logged->step == last_step && !logged->split.empty()) out.last_splits.insert(logged->split);
    kept += line;
    ++out.num_lines;
  }
  if (kept.size() != text.size()) replace_file(path, kept);
  return out;
}

}  // namespace axle
