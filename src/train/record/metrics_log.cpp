#include "train/record/metrics_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/text/json.h"
#include "checkpoint/folder.h"
#include "io/file_reader.h"

namespace axle {
namespace {

// Whose a line is. Users add notes and numbers of their own to the log.
enum class Writer { kRun, kOther, kTorn };
struct LoggedLine {
  Writer writer = Writer::kOther;
  StepRecord record = {};
};

constexpr std::string_view kBegin = "{\"step\":";

// Our lines begin with the step, hold numbers, and have the time: others may log numbers by step.
constexpr const char* kTime = "wall_secs";

std::optional<LoggedLine> record_in(std::string_view text) {
  try {
    const auto document = read_json(text);
    const JsonView json(document);
    LoggedLine out{.writer = Writer::kRun};
    StepRecord& record = out.record;
    record.step = json.at("step").integer(0, std::numeric_limits<int64_t>::max());
    for (const auto& [name, value] : document.items()) {
      if (name == "split")
        record.split = JsonView(value).text();
      else if (!value.is_number() && !value.is_null())
        return LoggedLine{};
      else if (name != "step")
        record.values[name] =
            value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
    }
    return record.values.contains(kTime) ? out : LoggedLine{};
  } catch (const JsonError&) {
    return std::nullopt;
  }
}

// Returns a line of the run that is not whole. Its step is 0 if it is cut before the step's end.
LoggedLine torn_line(std::string_view line) {
  LoggedLine out{.writer = Writer::kTorn};
  if (!line.starts_with(kBegin)) return out;
  line.remove_prefix(kBegin.size());
  const char* const end = line.data() + line.size();
  const auto [rest, error] = std::from_chars(line.data(), end, out.record.step);
  if (error != std::errc{} || rest == end || *rest != ',') out.record.step = 0;
  return out;
}

LoggedLine read_line(std::string_view text) {
  const bool is_damaged = text.find('\0') != text.npos;  // as a crash leaves on some file systems
  if (is_damaged) return torn_line(text);
  const std::string_view line = text.ends_with('\n') ? text.substr(0, text.size() - 1) : text;
  if (line.empty()) return {};
  if (line.size() < kBegin.size() && kBegin.starts_with(line)) return torn_line(line);
  const bool is_ours =
      line.starts_with(kBegin) && (line.size() == kBegin.size() ||
                                   std::isdigit(static_cast<unsigned char>(line[kBegin.size()])));
  if (!is_ours) return {};
  if (const auto record = record_in(line)) return *record;
  try {
    read_json(line);
    return {};
  } catch (const JsonError&) {
    return torn_line(line);
  }
}

bool stays(const LoggedLine& line, int64_t last_step) {
  return line.writer == Writer::kOther ||
         (line.writer == Writer::kRun && line.record.step <= last_step);
}

constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr size_t kMaxLineBytes = size_t{16} << 20;  // longer lines are not ours

// A part of the file.
struct Extent {
  int64_t begin = 0, end = 0;
};

// Calls fn(line, extent) with each line, including its newline, also with the last one if it has
// none. Of a line that is not ours by its size, `line` is the beginning. Reads in pieces, since a
// log may be larger than the memory.
template <class Fn>
void for_each_line(const FileReader& file, Fn&& fn) {
  std::string line;  // the part of the line in earlier pieces
  std::vector<char> piece(kPieceBytes);
  int64_t offset = 0;
  Extent extent;
  const auto finish = [&](std::string_view text, int64_t end) {
    extent.end = end;
    fn(text, extent);
    line.clear();
    extent.begin = end;
  };
  while (const size_t got = file.read_some(offset, std::as_writable_bytes(std::span(piece)))) {
    std::string_view rest(piece.data(), got);
    for (size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
      const std::string_view part = rest.substr(0, end + 1);
      const int64_t end_offset = offset + (part.data() + part.size() - piece.data());
      if (line.empty())
        finish(part, end_offset);
      else
        finish(line.append(part.substr(0, kMaxLineBytes)), end_offset);
    }
    if (line.size() < kMaxLineBytes) line += rest;
    offset += static_cast<int64_t>(got);
  }
  if (extent.begin < offset) finish(line, offset);
}

void copy_extent(const FileReader& file, const Extent& extent, FileWriter& to) {
  std::vector<char> piece(kPieceBytes);
  for (int64_t at = extent.begin; at < extent.end;) {
    const auto size =
        static_cast<size_t>(std::min<int64_t>(extent.end - at, static_cast<int64_t>(piece.size())));
    file.read_at(at, std::as_writable_bytes(std::span(piece).first(size)));
    to.write(std::string_view(piece.data(), size));
    at += static_cast<int64_t>(size);
  }
}

// Cuts the log. A run may start over, behind the records of an earlier one whose checkpoints are
// gone, or never came: then keeps a copy of the log.
std::set<std::string> begin_log(const SummaryWriter::Dims& dims) {
  const std::filesystem::path path = metrics_file_of(dims.dir);
  int64_t num_later = 0;
  if (dims.restored_step == 0) {
    for_each_record(path, [&](const StepRecord& record) { num_later += record.step > 0; });
  }
  if (num_later > 0) {
    std::filesystem::path old = path;
    old += ".old";
    const FileReader file(path);
    write_atomically(old, [&](FileWriter& to) { copy_extent(file, {0, file.size()}, to); });
    report_to_stderr(fmt::format(
        "WARNING: {}: expected a checkpoint of the run with these {} records, got none; the "
        "run starts over, and {} keeps the records",
        path.string(), num_later, old.filename().string()));
  }
  RemainingLines left = truncate_metrics_log(path, dims.restored_step);
  const auto warn = [&](const std::string& got) {
    report_to_stderr(fmt::format(
        "WARNING: {}: expected the records of the steps up to {}, got {}; the checkpoint is not "
        "affected",
        path.string(), dims.restored_step, got));
  };
  if (dims.restored_step == 0) return std::move(left.last_splits);
  if (left.num_torn > 0) {
    warn(fmt::format("{} that a stop has cut, which {} removed",
                     left.num_torn == 1 ? "one" : std::to_string(left.num_torn),
                     left.num_torn == 1 ? "is" : "are"));
  } else if (dims.restored_step - left.last_step >= std::max(left.longest_gap, dims.log_every)) {
    warn(left.last_step == 0 ? "none" : fmt::format("the last of step {}", left.last_step));
  }
  if (left.num_missing > left.num_torn) {
    warn(fmt::format("none of {} of them, the first of which is step {}", left.num_missing,
                     left.first_missing));
  }
  return std::move(left.last_splits);
}

}  // namespace

MetricsLog::MetricsLog(const Dims& dims)
    : restored_step_(dims.restored_step),
      evaluated_(begin_log(dims)),
      file_(metrics_file_of(dims.dir), WriteMode::kAppend) {}

MetricsLog::~MetricsLog() {
  if (num_lost_ == 0) return;
  while_memory_lasts([this] {
    report_to_stderr(fmt::format("axle: {}: {} lines were lost", file_.path().string(), num_lost_));
  });
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

void for_each_record(const std::filesystem::path& path,
                     const std::function<void(const StepRecord&)>& fn) {
  if (!path_exists(path)) return;
  for_each_line(FileReader(path), [&](std::string_view text, const Extent&) {
    const LoggedLine line = read_line(text);
    if (line.writer == Writer::kRun) fn(line.record);
  });
}

RemainingLines truncate_metrics_log(const std::filesystem::path& path, int64_t last_step) {
  RemainingLines out;
  if (!path_exists(path)) return out;
  const FileReader file(path);
  std::vector<Extent> kept;
  std::vector<int64_t> torn;  // steps
  bool ends_a_line = true;
  int64_t gap_before = 0;
  for_each_line(file, [&](std::string_view text, const Extent& extent) {
    const LoggedLine line = read_line(text);
    if (line.writer == Writer::kTorn) torn.push_back(line.record.step);
    if (line.writer == Writer::kRun && line.record.step <= last_step && line.record.split.empty()) {
      const int64_t gap = line.record.step - out.last_step;
      if (gap > 1 && gap_before == 1) {
        if (out.num_missing == 0) out.first_missing = out.last_step + 1;
        out.num_missing += gap - 1;
      }
      gap_before = gap;
      out.longest_gap = std::max(out.longest_gap, gap);
      out.last_step = line.record.step;
    }
    if (!stays(line, last_step)) return;
    ends_a_line = text.ends_with('\n') || text.size() >= kMaxLineBytes;
    if (line.record.step == last_step && !line.record.split.empty())
      out.last_splits.insert(line.record.split);
    if (!kept.empty() && kept.back().end == extent.begin)
      kept.back().end = extent.end;
    else
      kept.push_back(extent);
    ++out.num_lines;
  });
  // Of the last step, an evaluation may be cut, which is taken again, or the record.
  const bool has_last = out.last_step == last_step;
  out.num_torn = std::ranges::count_if(torn, [&](int64_t step) {
    return step == 0 || step == last_step ? !has_last : step < last_step;
  });
  const bool is_whole = kept.size() == 1 && kept[0].begin == 0 && kept[0].end == file.size();
  if (file.size() == 0 || (is_whole && ends_a_line)) return out;
  write_atomically(path, [&](FileWriter& to) {
    for (const Extent& extent : kept) copy_extent(file, extent, to);
    if (!ends_a_line) to.write("\n");
  });
  return out;
}

}  // namespace axle
