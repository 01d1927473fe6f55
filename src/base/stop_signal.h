// Signals that ask the process to stop, as a flag that the trainer reads between steps.
#pragma once

#include <memory>

#include "base/exit_code.h"
#include "base/signal_handlers.h"

namespace axle {

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
