// The exceptions of Axle. Most messages read `<where>: <expected>, got <what>[; <what to do>]`.
// `<where>` is a config path, a layer path, or a file with line or offset.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace axle {

// Exit codes of the program: one table for all commands, and for supervisors that decide whether to
// retry.

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

/// Base of all errors that end a program or a request. Holds the exit code of the program.
class Error : public std::runtime_error {
 public:
  Error(const std::string& message, ExitCode code) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// The user's config, command line or recipe is wrong.
struct ConfigError : Error {
  explicit ConfigError(const std::string& message) : Error(message, ExitCode::kUser) {}
};
/// Shapes or dtypes do not fit together, while tracing or in the arguments of a program.
struct ShapeError : Error {
  explicit ShapeError(const std::string& message) : Error(message, ExitCode::kUser) {}
};
/// Input data is missing, unreadable or malformed.
struct DataError : Error {
  explicit DataError(const std::string& message) : Error(message, ExitCode::kData) {}
};
/// A file system or object store failed, or stored bytes are not what was written.
struct StorageError : Error {
  explicit StorageError(const std::string& message) : Error(message, ExitCode::kStorage) {}
};
/// A PJRT plugin or a device is missing or failed. A message of PJRT holds its code and text.
struct DeviceError : Error {
  explicit DeviceError(const std::string& message, ExitCode code = ExitCode::kDevice)
      : Error(message, code) {}
};
/// A bug of Axle itself; thrown by AXLE_CHECK.
struct InternalError : Error {
  explicit InternalError(const std::string& message) : Error(message, ExitCode::kInternal) {}
};

namespace detail {
[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               std::string_view message);
}

}  // namespace axle

/// AXLE_CHECK(condition, message): for bugs of Axle only. A user's mistake throws a typed error
/// instead.
#define AXLE_CHECK(condition, message) \
  (static_cast<bool>(condition)        \
       ? void(0)                       \
       : ::axle::detail::check_failed(#condition, __FILE__, __LINE__, message))

namespace axle {

/// Takes one line for the user. May be called from another thread.
using Report = std::function<void(const std::string& line)>;

/// Writes the line to standard error, waiting at most one second, and drops it if standard error
/// accepts no data. Neither a full disk nor a stopped reader may stop a training run.
void report_to_stderr(const std::string& line);

}  // namespace axle
