// Exit codes of the program: one table for all commands, and for supervisors that decide whether to
// retry.
#pragma once

namespace axle {

enum class ExitCode : int {
  kOk = 0,
  kInternal = 1,              // a bug of Axle
  kUser = 2,                  // the user's mistake: a retry fails the same way
  kData = 3,                  // input data missing, unreadable or malformed
  kStorage = 4,               // a file system or object store failed, or a checkpoint is damaged
  kDevice = 5,                // a PJRT plugin or device failed
  kDoesNotFit = 6,            // the program needs more memory than the machine has
  kDoesNotCompile = 7,        // the target's compiler refused the program
  kRerunElsewhere = 16,       // reserved: a result could not be reproduced on this device
  kValidationFailed = 17,     // a number is not finite or differs from its reference
  kHang = 18,                 // reserved: no progress within a watchdog's time
  kTerminatedAndSaved = 19,   // SIGTERM, SIGHUP, SIGUSR1 or SIGXCPU: stopped, every step is saved
  kInterruptedAndSaved = 130  // SIGINT: stopped, every step is saved
};

}  // namespace axle
