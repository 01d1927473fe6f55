#include "base/process_start.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace axle {

void prepare_process() {
  // The modes are swapped (stdin write-only, the others read-only), so that use fails as on a
  // closed stream.
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // open takes the lowest free number, which is this one.
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)::open("/dev/null", kModes[fd]);
  }
  std::signal(SIGXFSZ, SIG_IGN);
}

void ignore_broken_pipes() { std::signal(SIGPIPE, SIG_IGN); }

double secs_since_process_start() {
  std::ifstream file("/proc/self/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  // The fields start after the program's name, which may contain any character.
  std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
  constexpr int kBefore = 19;  // number of fields between the name and the start time
  std::string skipped;
  for (int i = 0; i < kBefore; ++i) fields >> skipped;
  double start_ticks = 0;
  timespec now = {};
  if (!(fields >> start_ticks) || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) -
         start_ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace axle
