#include "train/record/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/host_memory.h"
#include "base/parallel.h"
#include "base/text/text.h"
#include "base/text/text_table.h"

namespace axle {
namespace {

// Returns "[=>  ] " in so many columns; "" if they are too few, and at most kMax of them.
std::string bar(double share, int64_t columns) {
  constexpr int64_t kMin = 7, kMax = 27;
  if (columns < kMin) return {};
  const auto width = std::min(columns, kMax) - 3;
  const auto full = static_cast<int64_t>(share * static_cast<double>(width));
  return fmt::format("[{:=<{}}{:<{}}] ", "", full, full < width ? ">" : "", width - full);
}

double value_of(const StepRecord& record, std::string_view name) {
  const auto it = record.values.find(name);
  return it == record.values.end() ? 0 : it->second;
}

// Returns the fields of a step's line, the most important first. All of them are ASCII.
std::vector<std::string> step_fields(const StepRecord& r, const Throughput& speed,
                                     int64_t max_steps) {
  const double secs_left = static_cast<double>(max_steps - r.step) * speed.step_secs;
  std::vector<std::string> out = {fmt::format("step {}/{}", r.step, max_steps),
                                  fmt::format("loss {:.4f}", value_of(r, "loss")),
                                  fmt::format("grad {:.3f}", value_of(r, "grad_norm")),
                                  fmt::format("{:.0f} tok/s", speed.tokens_per_sec)};
  if (speed.mfu > 0) out.push_back(fmt::format("mfu {:.1f}%", 100 * speed.mfu));
  out.push_back("eta " + duration_text(secs_left));
  out.push_back(fmt::format("host mem {} MB", resident_bytes() >> 20));
  return out;
}

std::string line_of(const std::vector<std::string>& fields) { return join(fields, "  "); }

}  // namespace

std::string step_line(const StepRecord& record, const Throughput& speed, int64_t max_steps,
                      size_t columns) {
  std::vector<std::string> fields = step_fields(record, speed, max_steps);
  const std::string all = line_of(fields);
  if (all.size() <= columns) {
    const double share =
        static_cast<double>(record.step) / static_cast<double>(std::max<int64_t>(max_steps, 1));
    return bar(share, static_cast<int64_t>(columns - all.size())) + all;
  }
  while (fields.size() > 1 && line_of(fields).size() > columns) fields.pop_back();
  return line_of(fields);
}

Progress::Progress(int64_t max_steps, int64_t every_steps, int fd)
    : fd_(fd), max_steps_(max_steps), every_steps_(std::max<int64_t>(every_steps, 1)), line_(fd) {
  std::fflush(stdout);  // text printed before must come first
}

void Progress::step(const StepRecord& record, const Throughput& speed) {
  const bool due = record.step % every_steps_ == 0 || record.step == max_steps_ || record.step == 1;
  const std::lock_guard lock(mutex_);
  if (!line_.is_shown()) {
    if (due) line_.print(line_of(step_fields(record, speed, max_steps_)) + "\n");
    return;
  }
  const auto now = Clock::now();
  if (!due && now - last_drawn_ < std::chrono::milliseconds(100)) return;
  last_drawn_ = now;
  constexpr size_t kWide = 1000;  // of a terminal that does not tell
  const size_t columns = columns_of(fd_);
  line_.draw(step_line(record, speed, max_steps_, columns == 0 ? kWide : columns));
}

void Progress::note(const std::string& line) {
  const std::lock_guard lock(mutex_);
  line_.print(with_coloured_warnings(line + "\n", fd_));
}

void Progress::waiting(const std::string& what) {
  const std::lock_guard lock(mutex_);
  line_.draw(what);
}

// Without a thread for it, nothing is told.
LongWait::LongWait(Progress& progress, std::string what, double expected_secs,
                   double first_line_secs)
    : progress_(progress),
      what_(std::move(what)),
      expected_secs_(expected_secs),
      first_line_secs_(first_line_secs) {
  try_start(watcher_, [this] { while_memory_lasts([this] { watch(); }); });
}

LongWait::~LongWait() {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  ended_.notify_all();
  if (watcher_.joinable()) watcher_.join();
  if (is_drawn_) progress_.waiting("");
}

double LongWait::secs_to_go(double secs) const {
  const double share = share_;
  return share > 0 ? secs * (1 - share) / share : expected_secs_ - secs;
}

void LongWait::watch() {
  double next_line = first_line_secs_;
  const double pause = std::min(1.0, first_line_secs_);
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, std::chrono::duration<double>(pause), [&] { return has_ended_; })) {
    const double secs = seconds_since(start_);
    std::string text = fmt::format("{}: {} so far", what_, duration_text(secs));
    if (const double to_go = secs_to_go(secs); to_go > 0)
      text += fmt::format(", {} {} to go", share_ > 0 ? "about" : "at least", duration_text(to_go));
    if (progress_.is_on_screen()) {
      progress_.waiting(text);
      is_drawn_ = true;
    } else if (secs >= next_line) {
      progress_.note(text);
      next_line *= 2;
    }
  }
}

}  // namespace axle
