// Text for people on a console that may take nothing for a while (`| less`, Ctrl-S): work that is
// worth more than its console does not wait for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string_view>

namespace axle {

/// Writes what the console takes now, or within `patience` for each 4 KiB; the number of bytes that
/// it took. One that is closed, on a full disk or gone loses the text and counts as taking it.
/// Async-signal-safe.
size_t write_unless_stuck(int fd, std::string_view text, std::chrono::milliseconds patience = {});

/// A console whose lines are dropped while it takes none; the next line that it takes comes behind
/// one that counts them. Threads may share it.
class Console {
 public:
  explicit Console(int fd, std::chrono::milliseconds patience = {})
      : fd_(fd), patience_(patience) {}
  /// False if it was dropped, or cut. `lead` (to clear a line, say) comes before all else.
  bool write(std::string_view text, std::string_view lead = {});

 private:
  const int fd_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  int64_t num_dropped_ = 0;  // lines
  bool torn_ = false;        // the console may stand in the middle of a line
};

}  // namespace axle
