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

// The line of an EndAtOnce; nullptr: none is alive.
const char* volatile g_last_line = nullptr;

ExitCode code_of(int signal) {
  return signal == SIGINT ? ExitCode::kInterruptedAndSaved : ExitCode::kTerminatedAndSaved;
}

[[noreturn]] void end_at_once(int signal, const char* line) {
  write_with_timeout(g_console, line);
  _exit(static_cast<int>(code_of(signal)));
}

extern "C" void on_signal(int signal) {
  if (const char* const line = g_last_line) end_at_once(signal, line);
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

ExitCode StopSignal::requested() const { return g_signal == 0 ? ExitCode::kOk : code_of(g_signal); }

EndAtOnce::EndAtOnce(const char* line) {
  g_last_line = line;  // first: a signal may come between both
  if (g_signal != 0) end_at_once(g_signal, line);
}

EndAtOnce::~EndAtOnce() { g_last_line = nullptr; }

}  // namespace axle
