#include "base/stop_signal.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <span>
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
  write_with_timeout(g_console, kLine);
  errno = error;
}

// SIGPIPE and SIGXFSZ are ignored: the write that fails reports them.
const std::array kHandlers = {SignalHandler{SIGINT, on_signal},  SignalHandler{SIGTERM, on_signal},
                              SignalHandler{SIGHUP, on_signal},  SignalHandler{SIGUSR1, on_signal},
                              SignalHandler{SIGXCPU, on_signal}, SignalHandler{SIGPIPE, SIG_IGN},
                              SignalHandler{SIGXFSZ, SIG_IGN}};

// Runs before the handlers are installed.
std::span<const SignalHandler> prepared() {
  g_signal = 0;
  if (const int copy = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); copy >= 0)
    g_console = copy;
  return kHandlers;
}

}  // namespace

StopSignal::StopSignal() : handlers_(std::make_unique<SignalHandlers>(prepared())) {}

StopSignal::~StopSignal() {
  handlers_.reset();  // first: the handlers write to the console
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
