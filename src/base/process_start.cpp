#include "base/process_start.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include "base/console.h"

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

SignalHandlers::SignalHandlers(std::span<const SignalHandler> handlers) {
  for (const auto& [signal, handler, flags] : handlers) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(signal, &action, nullptr);
    before_.emplace_back(signal, before);
  }
}

SignalHandlers::~SignalHandlers() {
  for (const auto& [signal, before] : before_) sigaction(signal, &before, nullptr);
}

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
