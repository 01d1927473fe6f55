#include "runtime/plugin_end_guard.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "base/exit_code.h"

namespace axle {
namespace {

// One thread's guards at a time, since stderr and the signal are the process's.
std::recursive_mutex g_one_thread;
std::atomic<PluginEndGuard*> g_innermost = nullptr;
char g_printed[1 << 16];  // static: a signal handler fills it
struct sigaction g_before;

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace

// The process is ending within a call of the plugin.
struct PluginEnd {
  static void end_process() {
    const PluginEndGuard* const inner = g_innermost.exchange(nullptr);
    if (!inner) return;
    const ssize_t size = ::pread(inner->held_, g_printed, sizeof g_printed, inner->taken_);
    const std::string_view reason =
        reason_in({g_printed, static_cast<size_t>(std::max<ssize_t>(size, 0))});
    const bool is_flag = reason.find("flag") != reason.npos || reason.find("FLAGS") != reason.npos;
    const PluginEndGuard* outermost = inner;
    while (outermost->outer_) outermost = outermost->outer_;
    for (const std::string_view part :
         {std::string_view("axle: "), std::string_view(inner->where_),
          std::string_view(": expected it to "), std::string_view(inner->purpose_),
          std::string_view(", got its end: "), reason,
          std::string_view(is_flag ? "; see the variables XLA_FLAGS and LIBTPU_INIT_ARGS\n"
                                   : "\n")})
      write_all(outermost->before_ >= 0 ? outermost->before_ : STDERR_FILENO, part);
    ::_exit(static_cast<int>(is_flag ? ExitCode::kUser : ExitCode::kDevice));
  }
};

namespace {

extern "C" void on_abort(int) { PluginEnd::end_process(); }

}  // namespace
}  // namespace axle

// XLA ends the process by it for a flag that it does not know, and nothing else tells of that. A
// plugin's calls are bound to this one, since the program and its libraries are searched before
// libc. For all others, a signal's handler of ours among them, it is what it always was.
extern "C" [[noreturn]] void _exit(int code) {
  constexpr int kOfPlugins = 1;
  if (code == kOfPlugins) axle::PluginEnd::end_process();
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

PluginEndGuard::PluginEndGuard(const std::string& where, std::string_view purpose)
    : outer_((g_one_thread.lock(), g_innermost.load())) {
  [[maybe_unused]] static const int registered = std::atexit(PluginEnd::end_process);
  where_[where.copy(where_, sizeof where_ - 1)] = '\0';
  purpose_[purpose.copy(purpose_, sizeof purpose_ - 1)] = '\0';
  std::fflush(stderr);
  held_ = ::memfd_create("stderr", MFD_CLOEXEC);
  before_ = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (held_ >= 0 && before_ >= 0) ::dup2(held_, STDERR_FILENO);
  if (!outer_) {
    struct sigaction action = {};
    action.sa_handler = on_abort;
    ::sigaction(SIGABRT, &action, &g_before);
  }
  g_innermost = this;
}

std::string PluginEndGuard::take_text() {
  std::fflush(stderr);
  std::string out;
  std::array<char, 1 << 12> part;
  for (ssize_t n = 0; (n = ::pread(held_, part.data(), part.size(), taken_)) > 0; taken_ += n)
    out.append(part.data(), static_cast<size_t>(n));
  return out;
}

PluginEndGuard::~PluginEndGuard() {
  const std::string rest = take_text();
  g_innermost = outer_;
  if (!outer_) ::sigaction(SIGABRT, &g_before, nullptr);
  if (held_ >= 0 && before_ >= 0) ::dup2(before_, STDERR_FILENO);
  write_all(STDERR_FILENO, rest);
  if (before_ >= 0) ::close(before_);
  if (held_ >= 0) ::close(held_);
  g_one_thread.unlock();
}

}  // namespace axle
