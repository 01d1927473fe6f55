#include "train/record/metrics_log.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/report.h"
#include "base/text/json.h"
#include "checkpoint/run_files.h"
#include "io/file_reader.h"

namespace axle {
namespace {

struct LoggedLine {
  int64_t step = 0;
  std::string split = {};  // empty for a training step
};

// Parses a line of the log; none if it is torn or not a line of ours.
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

std::optional<LoggedLine> kept_line(std::string_view text, int64_t last_step) {
  const auto line = read_line(text);
  return line && line->step <= last_step ? line : std::nullopt;
}

constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr size_t kMaxLineBytes = size_t{16} << 20;  // longer lines are not ours

// Calls fn with each whole line, including its newline. Reads in pieces, since a log may be larger
// than the memory.
template <class Fn>
void for_each_line(const FileReader& file, Fn&& fn) {
  std::string line;  // the part of the line in earlier pieces
  bool is_too_long = false;
  std::vector<char> piece(kPieceBytes);
  int64_t offset = 0;
  while (const size_t got = file.read_some(offset, std::as_writable_bytes(std::span(piece)))) {
    offset += static_cast<int64_t>(got);
    std::string_view rest(piece.data(), got);
    for (size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
      const std::string_view part = rest.substr(0, end + 1);
      if (!is_too_long) fn(line.empty() ? part : std::string_view(line.append(part)));
      line.clear();
      is_too_long = false;
    }
    is_too_long = is_too_long || line.size() + rest.size() > kMaxLineBytes;
    if (is_too_long)
      line.clear();
    else
      line += rest;
  }
}

}  // namespace

MetricsLog::MetricsLog(const Dims& dims)
    : restored_step_(dims.restored_step),
      evaluated_(truncate_metrics_log(metrics_file_of(dims.dir), dims.restored_step).last_splits),
      file_(metrics_file_of(dims.dir), WriteMode::kAppend) {}

MetricsLog::~MetricsLog() {
  if (num_lost_ > 0)
    report_to_stderr(fmt::format("axle: {}: {} lines were lost", file_.path().string(), num_lost_));
}

void MetricsLog::write(const StepRecord& record) {
  if (record.step == restored_step_ && evaluated_.contains(record.split)) return;
  check_in_place();
  if (removed_) {  // the run is ending because of that
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
  file_.check_in_place("; run the same command to resume with a new file");
}

// The lines are already in the file. This flushes them to the disk; if it fails, no line is lost.
void MetricsLog::flush() {
  check_in_place();
  try {
    file_.sync();
  } catch (const StorageError&) {
  }
}

RemainingLines truncate_metrics_log(const std::filesystem::path& path, int64_t last_step) {
  RemainingLines out;
  if (!path_exists(path)) return out;
  const FileReader file(path);
  int64_t kept_bytes = 0;
  for_each_line(file, [&](std::string_view line) {
    const auto logged = kept_line(line, last_step);
    if (!logged) return;
    if (logged->step == last_step && !logged->split.empty()) out.last_splits.insert(logged->split);
    kept_bytes += static_cast<int64_t>(line.size());
    ++out.num_lines;
  });
  if (kept_bytes == file.size()) return out;
  write_atomically(path, [&](FileWriter& kept) {
    std::string piece;
    for_each_line(file, [&](std::string_view line) {
      if (!kept_line(line, last_step)) return;
      piece += line;
      if (piece.size() < kPieceBytes) return;
      kept.write(piece);
      piece.clear();
    });
    kept.write(piece);
  });
  return out;
}

}  // namespace axle
