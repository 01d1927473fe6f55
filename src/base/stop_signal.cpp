#include "base/stop_signal.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "base/console.h"

namespace axle {
namespace {

volatile std::sig_atomic_t g_signal = 0;
// A copy of standard error as it was at the start: while a plugin compiles, everything written to
// standard error itself is held back.
volatile std::sig_atomic_t g_console = STDERR_FILENO;

extern "C" void on_signal(int signal) {
  if (g_signal != 0) {
    if (signal == SIGINT) _exit(128 + SIGINT);
    return;
  }
  g_signal = signal;
  constexpr std::string_view kLine = "\nstopping as soon as possible; Ctrl-C again ends at once\n";
  const int error = errno;
  write_unless_stuck(g_console, kLine);
  errno = error;
}

struct Row {
  int signal;
  void (*handler)(int);
};

// SIGPIPE and SIGXFSZ are ignored: the write that fails reports them.
const std::array kRows = {Row{SIGINT, on_signal},  Row{SIGTERM, on_signal}, Row{SIGHUP, on_signal},
                          Row{SIGUSR1, on_signal}, Row{SIGXCPU, on_signal}, Row{SIGPIPE, SIG_IGN},
                          Row{SIGXFSZ, SIG_IGN}};

}  // namespace

struct StopSignal::Saved {
  std::array<struct sigaction, kRows.size()> actions;
};

StopSignal::StopSignal() : saved_(new Saved) {
  g_signal = 0;
  if (const int copy = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); copy >= 0)
    g_console = copy;
  for (size_t i = 0; i < kRows.size(); ++i) {
    const auto [signal, handler] = kRows[i];
    struct sigaction& before = saved_->actions[i];
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
}

StopSignal::~StopSignal() {
  for (size_t i = 0; i < kRows.size(); ++i)
    sigaction(kRows[i].signal, &saved_->actions[i], nullptr);
  delete saved_;
  if (g_console != STDERR_FILENO) ::close(g_console);
  g_console = STDERR_FILENO;
}

ExitCode StopSignal::requested() const {
  switch (g_signal) {
    case 0:
      return ExitCode::kOk;
    case SIGINT:
      return ExitCode::kInterruptedAndSaved;
    default:
      return ExitCode::kTerminatedAndSaved;
  }
}

}  // namespace axle
