// Signals that ask for an end, as a wish that the trainer reads between its steps.
#pragma once

#include "base/exit_code.h"

namespace axle {

/// Takes over the signals that ask for an end while alive: SIGINT (Ctrl-C), SIGTERM, SIGHUP (the
/// terminal is gone), SIGUSR1 and SIGXCPU (how schedulers warn of theirs). The first is answered by
/// a line on stderr. A Ctrl-C after it ends the process at once; the others do not, since launchers
/// send them more than once while a checkpoint is written. One that is ignored stays so: SIGHUP
/// under nohup, SIGINT in a script's background job. A console that is lost ends nothing either,
/// and one that takes nothing holds up nothing.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  /// kOk while no signal came, else the exit code of what was asked: kInterruptedAndSaved after
  /// Ctrl-C, kTerminatedAndSaved after the others.
  ExitCode requested() const;

 private:
  struct Saved;
  Saved* saved_;
};

}  // namespace axle
