#include "base/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>

#include "base/host_memory.h"
#include "base/process_start.h"
#include "base/text/unicode.h"

namespace axle {
namespace {

// "\r" and to the end of the screen: also the rows below, into which a narrower terminal wraps.
constexpr std::string_view kClearLine = "\r\033[J";
// True while a status line is drawn on some terminal: other text must remove it first.
std::atomic<bool> is_line_drawn = false;

// Returns the beginning of a text of one line that fits into `columns` columns.
std::string_view cut_to(std::string_view text, size_t columns) {
  size_t at = 0;
  for (size_t used = 0; at < text.size() && used < columns; ++used)
    at += std::max<size_t>(utf8_step(text.substr(at)).size, 1);
  return text.substr(0, at);
}

// A descriptor of our own for pipes and terminals, in non-blocking mode: another process may fill
// the pipe between poll and write, and a terminal may accept less than a line. O_NONBLOCK is not
// set on the given descriptor, because other processes share it. get() is -1 if the system has no
// descriptor.
class OwnDescriptor {
 public:
  explicit OwnDescriptor(int fd) {
    struct stat status;
    if (::fstat(fd, &status) != 0 || (!S_ISFIFO(status.st_mode) && ::isatty(fd) != 1)) return;
    char path[32] = "/proc/self/fd/";
    char* const number = std::find(path, std::end(path), '\0');
    *std::to_chars(number, std::end(path) - 1, fd).ptr = '\0';
    fd_ = ::open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  }
  ~OwnDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  OwnDescriptor(const OwnDescriptor&) = delete;
  OwnDescriptor& operator=(const OwnDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

// Also true for a console in an error state: the write then fails.
bool takes_some(int fd, std::chrono::milliseconds timeout) {
  pollfd wanted{.fd = fd, .events = POLLOUT, .revents = 0};
  int n;
  do {
    n = ::poll(&wanted, 1, static_cast<int>(timeout.count()));
  } while (n < 0 && errno == EINTR);
  return n != 0;
}

}  // namespace

size_t write_with_timeout(int fd, std::string_view text, std::chrono::milliseconds timeout) {
  const OwnDescriptor own(fd);
  size_t taken = 0;
  while (taken < text.size()) {
    if (!takes_some(fd, timeout)) break;
    const std::string_view piece = text.substr(taken, PIPE_BUF);  // poll promises this much room
    const ssize_t n = ::write(own.get() >= 0 ? own.get() : fd, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) return text.size();
    taken += static_cast<size_t>(n);
  }
  return taken;
}

bool Console::write(std::string_view text, std::string_view lead) {
  const std::lock_guard lock(mutex_);
  const auto lines_of = [](std::string_view part) { return std::ranges::count(part, '\n'); };
  std::string all = fmt::format("{}{}", torn_ ? "\n" : "", lead);
  if (lead.empty() && is_line_drawn && is_screen(fd_)) all += kClearLine;
  if (num_dropped_ > 0) {
    all += fmt::format("({} line{} dropped: the console accepted nothing)\n", num_dropped_,
                       num_dropped_ == 1 ? " was" : "s were");
  }
  const size_t begin = all.size();
  all += text;
  const size_t taken = write_with_timeout(fd_, all, timeout_);
  if (taken == 0) {
    num_dropped_ += lines_of(text);
    return false;
  }
  torn_ = taken < all.size();
  if (taken >= begin) num_dropped_ = 0;
  num_dropped_ += lines_of(std::string_view(all).substr(std::max(taken, begin)));
  return !torn_;
}

bool is_screen(int fd) { return ::isatty(fd) == 1 && environment_variable("TERM") != "dumb"; }

bool takes_colours(int fd) { return is_screen(fd) && environment_variable("NO_COLOR").empty(); }

size_t columns_of(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string with_coloured_warnings(std::string_view text, int fd) {
  if (!takes_colours(fd)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n') + 1);
    const std::string_view rest = line.empty() ? text : line;  // the last line may have no end
    const bool is_warning = rest.starts_with("WARNING") || rest.starts_with("warning");
    constexpr size_t kWord = 7;
    if (is_warning) out += fmt::format("\033[1;33m{}\033[0m", rest.substr(0, kWord));
    out += rest.substr(is_warning ? kWord : 0);
    text.remove_prefix(rest.size());
  }
  return out;
}

StatusLine::StatusLine(int fd, std::chrono::milliseconds timeout)
    : fd_(fd), is_screen_(is_screen(fd)), console_(fd, timeout) {}

void StatusLine::draw(std::string_view text) {
  if (!is_screen_) return;
  const size_t columns = columns_of(fd_);
  const std::string_view shown = columns == 0 ? text : cut_to(text, columns);
  if (!console_.write(fmt::format("{}\r", shown), kClearLine)) return;
  text_ = text;
  is_line_drawn = true;
}

bool StatusLine::print(std::string_view text) {
  const bool is_written = console_.write(text, text_.empty() ? "" : kClearLine);
  if (is_written) text_.clear(), is_line_drawn = false;
  return is_written;
}

void StatusLine::end() {
  if (text_.empty()) return;
  const size_t columns = columns_of(fd_);
  // The destructor may run because memory has run out.
  while_memory_lasts(
      [&] { print(fmt::format("{}\n", columns == 0 ? text_ : cut_to(text_, columns))); });
  text_.clear();
  is_line_drawn = false;
}

}  // namespace axle
