#include "runtime/plugin_end_guard.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#include "base/exit_code.h"

namespace axle {
namespace {

// All static: it is used in a signal handler.
std::mutex g_one_at_a_time;
std::atomic<bool> g_active = false;
char g_where[512], g_printed[1 << 16];
int g_stderr = -1;  // the real one
int g_held = -1;    // what is printed meanwhile
struct sigaction g_before;

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

std::string_view held_text(off_t offset) {
  const ssize_t size = ::pread(g_held, g_printed, sizeof g_printed, offset);
  return {g_printed, static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

// The process is ending within a call of the plugin.
void end_process() {
  if (!g_active.exchange(false)) return;
  const std::string_view reason = reason_in(held_text(0));
  const bool is_flag = reason.find("flag") != reason.npos || reason.find("FLAGS") != reason.npos;
  for (const std::string_view part :
       {std::string_view("axle: "), std::string_view(g_where),
        std::string_view(": expected it to start, got its end: "), reason,
        std::string_view(is_flag ? "; see the variables XLA_FLAGS and LIBTPU_INIT_ARGS\n" : "\n")})
    write_all(g_stderr, part);
  ::_exit(static_cast<int>(is_flag ? ExitCode::kUser : ExitCode::kDevice));
}

extern "C" void on_abort(int) { end_process(); }

}  // namespace
}  // namespace axle

// XLA ends the process by it for a flag that it does not know, and nothing else tells of that. A
// plugin's calls are bound to this one, since the program and its libraries are searched before
// libc. For all others, a signal's handler of ours among them, it is what it always was.
extern "C" [[noreturn]] void _exit(int code) {
  constexpr int kOfPlugins = 1;
  if (code == kOfPlugins) axle::end_process();
  while (true) ::syscall(SYS_exit_group, code);
}

namespace axle {

std::string_view reason_in(std::string_view printed) {
  std::string_view last;
  while (!printed.empty()) {
    std::string_view line = printed.substr(0, printed.find('\n'));
    printed.remove_prefix(std::min(line.size() + 1, printed.size()));
    if (line.empty() || line.starts_with("WARNING: All log messages")) continue;
    // "F0000 00:00:1795302568.3111 491 parse_flags_from_env.cc:234] Unknown flag ..."
    const bool is_error = line.size() > 1 && (line[0] == 'E' || line[0] == 'F') &&
                          std::isdigit(static_cast<unsigned char>(line[1]));
    if (const size_t end = line.find("] "); is_error && end != line.npos)
      return line.substr(end + 2);
    last = line;
  }
  return last.empty() ? "no reason given" : last;
}

PluginEndGuard::PluginEndGuard(const std::string& where) {
  g_one_at_a_time.lock();
  [[maybe_unused]] static const int registered = std::atexit(end_process);
  g_where[where.copy(g_where, sizeof g_where - 1)] = '\0';
  g_held = ::memfd_create("stderr", MFD_CLOEXEC);
  g_stderr = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  if (g_held >= 0 && g_stderr >= 0) ::dup2(g_held, STDERR_FILENO);
  struct sigaction action = {};
  action.sa_handler = on_abort;
  ::sigaction(SIGABRT, &action, &g_before);
  g_active = true;
}

PluginEndGuard::~PluginEndGuard() {
  g_active = false;
  ::sigaction(SIGABRT, &g_before, nullptr);
  if (g_stderr >= 0) {
    ::dup2(g_stderr, STDERR_FILENO);
    off_t offset = 0;
    for (std::string_view text; !(text = held_text(offset)).empty();
         offset += static_cast<off_t>(text.size()))
      write_all(STDERR_FILENO, text);
    ::close(g_stderr);
  }
  if (g_held >= 0) ::close(g_held);
  g_stderr = g_held = -1;
  g_one_at_a_time.unlock();
}

}  // namespace axle
