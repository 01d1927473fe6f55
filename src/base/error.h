// The exceptions of Axle. Most messages read `<where>: <expected>, got <what>[; <what to do>]`.
// `<where>` is a config path, a layer path, or a file with line or offset.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "base/exit_code.h"

namespace axle {

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
