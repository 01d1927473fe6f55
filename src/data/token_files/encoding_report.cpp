#include "data/token_files/encoding_report.h"

#include <fmt/format.h>

#include "base/report.h"
#include "base/text/units.h"
#include "io/user_path.h"

namespace axle {
namespace {

constexpr double kReportSecs = 30;

}  // namespace

void EncodingReport::add(const TokenBuildProgress& progress) {
  if (num_reports_ == 0) {
    report_to_stderr(fmt::format("{}: encoding {} of {}, once; its tokens stay in {}", where_,
                                 bytes_text(num_bytes_), what_,
                                 text_of_path(cache_.folder().string())));
    num_reports_ = 1;
  }
  if (seconds_since(start_) < kReportSecs * num_reports_) return;
  ++num_reports_;
  report_to_stderr(fmt::format("{}: encoded {} of {}, in {} of {} done", where_,
                               bytes_text(progress.text_bytes), what_, progress.num_files_done,
                               counted(progress.num_files, "file")));
}

void EncodingReport::end() const {
  if (num_reports_ == 0) return;
  report_to_stderr(fmt::format("{}: encoded {} in {}", where_, bytes_text(num_bytes_),
                               duration_text(seconds_since(start_))));
}

}  // namespace axle
