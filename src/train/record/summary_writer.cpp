#include "train/record/summary_writer.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/text/text.h"
#include "config/register.h"

namespace axle {

namespace {

// An evaler called "train" must not mix with the curves of training. Names of evalers have no
// slash, so "eval/train" is free.
std::string folder_of(const std::string& split) {
  if (split.empty()) return "train";
  return split == "train" ? "eval/train" : split;
}

// Returns the text as Markdown that shows it line by line.
std::string as_code(std::string_view text) {
  std::string out;
  for (const std::string_view line : split(text, '\n')) out += fmt::format("    {}\n", line);
  return out;
}

}  // namespace

template <class F>
void TensorBoardWriter::guarded(F&& f) {
  try {
    f();
  } catch (const StorageError& e) {
    if (!std::exchange(failed_, true))
      report_to_stderr(
          fmt::format("axle: {}; TensorBoard records are being lost, training goes on", e.what()));
  }
}

void TensorBoardWriter::write(const StepRecord& record) {
  if (record.split.empty()) {
    left_out_.reset();
    if (record.step % cfg_.every_steps != 0) {
      left_out_ = record;
      return;
    }
  }
  guarded([&] { add(record); });
}

TensorBoardWriter::~TensorBoardWriter() {
  if (left_out_) while_memory_lasts([&] { guarded([&] { add(*left_out_); }); });
}

void TensorBoardWriter::add(const StepRecord& record) {
  const std::string run = folder_of(record.split);
  auto& file = files_[run];
  // An evaluation of the restored step itself is repeated if metrics.jsonl lacks it.
  const int64_t first_step = std::min(restored_step_ + 1, record.step);
  if (!file) {
    file = std::make_unique<EventFileWriter>(dir_ / run, first_step);
    if (record.split.empty() && !config_.empty())
      file->text(first_step, "config", as_code(config_));
  }
  file->scalars(record.step, record.values);
}

void TensorBoardWriter::flush() {
  guarded([&] {
    for (auto& [run, file] : files_) {
      if (file) file->flush();
    }
  });
}

AXLE_REGISTER(TensorBoardWriter)

}  // namespace axle
