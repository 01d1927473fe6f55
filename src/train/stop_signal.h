// Ctrl-C and SIGTERM as a wish that the training loop reads between steps.
#pragma once

#include "base/exit_code.h"

namespace axle {

/// Takes over SIGINT and SIGTERM while alive; a second SIGINT ends the process at once.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  /// kOk while no signal came, else the exit code of what was asked: kInterruptedAndSaved or
  /// kTerminatedAndSaved.
  ExitCode requested() const;

 private:
  struct Saved;
  Saved* saved_;
};

}  // namespace axle
