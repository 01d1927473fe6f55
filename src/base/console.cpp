#include "base/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>

namespace axle {
namespace {

// A descriptor of our own for pipes and terminals, in non-blocking mode: another process may fill
// the pipe between poll and write, and a terminal may accept less than a line. O_NONBLOCK is not
// set on the given descriptor, because other processes share it. get() is -1 if the system gives no
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

}  // namespace axle
