// The process: its start, its environment, its clock, and the signals that end it.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace axle {

/// Prepares the process. main() calls it first.
///
/// A standard stream may be closed when the process starts. The next file that is opened would then
/// get its number and receive what the program prints. So this function opens such streams; reading
/// and writing them fails.
///
/// A write beyond the file size limit (`ulimit -f`) ends a process by default. This function makes
/// the write fail instead, like a write to a full disk.
void prepare_process();

/// Makes later writes to a pipe without a reader (`| head`) fail. By default they end the process.
/// Work that continues without a console calls it.
void ignore_broken_pipes();

/// Returns the seconds since the process started, in steps of 10 ms. Returns 0 if the system does
/// not say. exec() does not restart the clock.
double secs_since_process_start();

/// A clock that never goes back.
using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Returns the value of the variable; "" if it is unset or empty.
inline std::string environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? value : "";
}

/// One signal, its handler, and flags of sigaction(2).
struct SignalHandler {
  int signal;
  void (*handler)(int);
  int flags = SA_RESTART;
};

/// Installs handlers and puts the earlier ones back at its end. A signal that was ignored stays
/// ignored: SIGHUP under nohup, SIGINT in a background job of a script.
class SignalHandlers {
 public:
  explicit SignalHandlers(std::span<const SignalHandler> handlers);
  ~SignalHandlers();
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;

 private:
  std::vector<std::pair<int, struct sigaction>> before_;
};

/// While alive, handles the signals that ask for a stop: SIGINT (Ctrl-C), SIGTERM, SIGHUP (the
/// terminal is gone), SIGUSR1 and SIGXCPU (the warnings that schedulers send before they stop a
/// job). Answers the first one with a line on stderr. A Ctrl-C after it ends the process at once.
/// The other signals do not, because launchers send them repeatedly while a checkpoint is written.
/// A signal that was ignored stays ignored: SIGHUP under nohup, SIGINT in a background job of a
/// script. A console that is lost does not end the process, and one that accepts no data does not
/// block it.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  /// Returns kOk while no signal came, else the exit code of the request: kInterruptedAndSaved
  /// after Ctrl-C, kTerminatedAndSaved after the other signals.
  ExitCode requested() const;

 private:
  std::unique_ptr<SignalHandlers> handlers_;
};

/// While alive, the first signal that a StopSignal handles ends the process at once, with the exit
/// code of the request: for work that nothing can interrupt, such as a compilation, once everything
/// is saved. A signal that came before ends the process at construction.
class EndAtOnce {
 public:
  /// `line` is what the signal prints on stderr. It must outlive the object.
  explicit EndAtOnce(const char* line);
  ~EndAtOnce();
  EndAtOnce(const EndAtOnce&) = delete;
  EndAtOnce& operator=(const EndAtOnce&) = delete;
};

}  // namespace axle
