// Text output to a console that may accept no data for a while (`| less`, Ctrl-S). A long-running
// job must not block on its console.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string_view>

namespace axle {

/// Writes as much as the console accepts at once, waiting at most `timeout` for each 4 KiB.
/// Returns the number of bytes accepted. A console that is closed, gone or on a full disk loses the
/// text, which counts as accepted. Async-signal-safe.
size_t write_with_timeout(int fd, std::string_view text, std::chrono::milliseconds timeout = {});

/// A console that drops lines while it accepts no data. A line with the number of dropped lines
/// precedes the next line that is accepted. Threads may share it.
class Console {
 public:
  explicit Console(int fd, std::chrono::milliseconds timeout = {}) : fd_(fd), timeout_(timeout) {}
  /// Returns false if the text was dropped or cut. `lead` (for example, to clear a line) is written
  /// first.
  bool write(std::string_view text, std::string_view lead = {});

 private:
  const int fd_;
  const std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  int64_t num_dropped_ = 0;  // in lines
  bool torn_ = false;        // the last write may have ended in the middle of a line
};

}  // namespace axle
