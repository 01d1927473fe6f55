#include "train/metrics_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/register.h"
#include "io/file.h"

namespace axle {

MetricsLog::MetricsLog(const Config&, const Dims& dims, const Scope&) : path_(dims.dir / "metrics.jsonl") {
  if (std::filesystem::exists(path_)) cut_metrics_log(path_, dims.restored_step);
  file_ = std::fopen(path_.c_str(), "a");
  if (!file_) throw StorageError(fmt::format("{}: cannot be written: {}", path_.string(), std::strerror(errno)));
}

MetricsLog::~MetricsLog() { std::fclose(file_); }

void MetricsLog::write(const StepRecord& record) {
  nlohmann::ordered_json line;
  line["step"] = record.step;
  if (!record.split.empty()) line["split"] = record.split;
  for (const auto& [name, value] : record.values) line[name] = value;  // non-finite numbers become null
  const std::string text = line.dump() + "\n";
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) report_failure();
}

void MetricsLog::flush() {
  if (std::fflush(file_) != 0) report_failure();
}

void MetricsLog::report_failure() {
  if (!std::exchange(failed_, true)) {
    fmt::print(stderr, "axle: {}: metrics are being lost: {}; training goes on\n", path_.string(), std::strerror(errno));
  }
  std::clearerr(file_);
}

int64_t cut_metrics_log(const std::filesystem::path& path, int64_t last_step) {
  std::ifstream in(path);
  std::string kept, line;
  int64_t n = 0;
  while (std::getline(in, line)) {
    const bool whole = !in.eof();
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!whole || json.is_discarded() || !json.contains("step") || json["step"].get<int64_t>() > last_step) continue;
    kept += line + "\n";
    ++n;
  }
  replace_file(path, kept);
  return n;
}

AXLE_REGISTER(MetricsLog)

}  // namespace axle
