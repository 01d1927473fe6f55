#include "train/record/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>

#include "base/host_memory.h"
#include "base/text/units.h"
#include "base/threads.h"

namespace axle {
namespace {

std::string bar(double share) {
  constexpr int kWidth = 24;
  const int full = static_cast<int>(share * kWidth);
  return fmt::format("[{:=<{}}{:<{}}]", "", full, full < kWidth ? ">" : "", kWidth - full);
}

double value_of(const StepRecord& record, std::string_view name) {
  const auto it = record.values.find(name);
  return it == record.values.end() ? 0 : it->second;
}

std::string step_line(const StepRecord& r, const Throughput& speed, int64_t max_steps) {
  return fmt::format("step {}/{}  loss {:.4f}  grad {:.3f}  {:.0f} tok/s{}  eta {}  mem {} MB",
                     r.step, max_steps, value_of(r, "loss"), value_of(r, "grad_norm"),
                     speed.tokens_per_sec,
                     speed.mfu > 0 ? fmt::format("  mfu {:.1f}%", 100 * speed.mfu) : "",
                     duration_text(static_cast<double>(max_steps - r.step) * speed.step_secs),
                     resident_bytes() >> 20);
}

}  // namespace

Progress::Progress(int64_t max_steps, int64_t every_steps)
    : max_steps_(max_steps), every_steps_(std::max<int64_t>(every_steps, 1)), line_(STDOUT_FILENO) {
  std::fflush(stdout);  // text printed before must come first
}

void Progress::step(const StepRecord& record, const Throughput& speed) {
  const bool due = record.step % every_steps_ == 0 || record.step == max_steps_ || record.step == 1;
  const std::lock_guard lock(mutex_);
  const std::string text = step_line(record, speed, max_steps_);
  if (!line_.is_shown()) {
    if (due) line_.print(text + "\n");
    return;
  }
  const auto now = Clock::now();
  if (!due && now - last_drawn_ < std::chrono::milliseconds(100)) return;
  last_drawn_ = now;
  const double share =
      static_cast<double>(record.step) / static_cast<double>(std::max<int64_t>(max_steps_, 1));
  line_.draw(bar(share) + " " + text);
}

void Progress::note(const std::string& line) {
  const std::lock_guard lock(mutex_);
  line_.print(with_coloured_warnings(line + "\n", STDOUT_FILENO));
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
  try_start(watcher_, [this] {
    try {
      watch();
    } catch (const std::bad_alloc&) {
      // as without a thread
    }
  });
}

LongWait::~LongWait() {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  ended_.notify_all();
  if (watcher_.joinable()) watcher_.join();
}

void LongWait::watch() {
  double next_line = first_line_secs_;
  const double pause = std::min(1.0, first_line_secs_);
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, std::chrono::duration<double>(pause), [&] { return has_ended_; })) {
    const double secs = seconds_since(start_);
    const std::string text =
        fmt::format("{}: {} so far{}", what_, duration_text(secs),
                    expected_secs_ > secs
                        ? fmt::format(", at least {} to go", duration_text(expected_secs_ - secs))
                        : "");
    if (progress_.is_on_screen()) {
      progress_.waiting(text);
    } else if (secs >= next_line) {
      progress_.note(text);
      next_line *= 2;
    }
  }
}

}  // namespace axle
