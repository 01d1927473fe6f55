#include "train/record/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/host_memory.h"
#include "base/text/units.h"

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
    : max_steps_(max_steps),
      every_steps_(std::max<int64_t>(every_steps, 1)),
      terminal_(isatty(STDOUT_FILENO) == 1),
      console_(STDOUT_FILENO) {
  std::fflush(stdout);  // text printed before must come first
}

Progress::~Progress() {
  if (bar_shown_) console_.write("\n");
}

// Replaces the bar, if there is one.
void Progress::show(const std::string& text, bool is_bar) {
  if (console_.write(text, bar_shown_ ? "\r\033[K" : "")) bar_shown_ = is_bar;
}

void Progress::step(const StepRecord& record, const Throughput& speed) {
  const bool due = record.step % every_steps_ == 0 || record.step == max_steps_ || record.step == 1;
  if (!terminal_) {
    if (!due) return;
    show(step_line(record, speed, max_steps_) + "\n");
    return;
  }
  const auto now = Clock::now();
  if (!due && now - last_drawn_ < std::chrono::milliseconds(100)) return;
  last_drawn_ = now;
  show(bar(static_cast<double>(record.step) /
           static_cast<double>(std::max<int64_t>(max_steps_, 1))) +
           " " + step_line(record, speed, max_steps_),
       /*is_bar=*/true);
}

void Progress::note(const std::string& line) { show(line + "\n"); }

}  // namespace axle
