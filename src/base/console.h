// Text output to a console that may accept no data for a while (`| less`, Ctrl-S). A long-running
// job must not block on its console.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
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

/// True if `fd` is a terminal whose cursor can be moved: TERM is not "dumb".
bool is_screen(int fd);
/// True if `fd` shows colours: a screen, and NO_COLOR (no-color.org) is not set.
bool takes_colours(int fd);
/// Returns the columns of a terminal; 0: no terminal, or it does not say.
size_t columns_of(int fd);
/// Returns the text for `fd`. Where it takes colours, the word "WARNING" or "warning" at the begin
/// of a line is yellow.
std::string with_coloured_warnings(std::string_view text, int fd);

/// A line at the bottom of a screen that replaces itself. It is cut to the width that the terminal
/// has when it is drawn. The cursor waits at its begin: a terminal that becomes narrower wraps the
/// line, and all that it wraps is below the cursor and cleared with it. Elsewhere than on a screen
/// nothing is drawn.
class StatusLine {
 public:
  explicit StatusLine(int fd, std::chrono::milliseconds timeout = {});
  /// Leaves the last text as a line of its own.
  ~StatusLine() { end(); }
  bool is_shown() const { return is_screen_; }
  /// Replaces the line.
  void draw(std::string_view text);
  /// Removes the line and writes whole lines. Returns false if the text was dropped or cut.
  bool print(std::string_view text);
  void end();

 private:
  const int fd_;
  const bool is_screen_;
  Console console_;
  std::string text_;  // empty: nothing is drawn
};

}  // namespace axle
