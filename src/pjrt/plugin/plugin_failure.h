// The failure that a plugin's call returns, and the errors that we throw for it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "pjrt/abi/plugin.h"

namespace axle {

/// An error that a plugin returned.
struct PluginFailure {
  pjrt::ErrorCode code = pjrt::ErrorCode::kUnknown;
  std::string message;
};

/// Returns the name of a code: "INVALID_ARGUMENT", ...
std::string name_of(pjrt::ErrorCode code);
/// Throws DeviceError with the message `<where>: <CODE>: <message>`. The exit code is kDoesNotFit
/// if a device's memory ran out, else `exit_code`. RESOURCE_EXHAUSTED alone does not decide this:
/// PJRT uses that code for other resources as well.
[[noreturn]] void throw_failure(std::string_view where, const PluginFailure& failure,
                                ExitCode exit_code = ExitCode::kDevice);

/// The compiler refused a program that needs more memory than the device has.
struct DoesNotFitError : DeviceError {
  DoesNotFitError(const std::string& message, std::string compilers_details)
      : DeviceError(message, ExitCode::kDoesNotFit), details(std::move(compilers_details)) {}
  /// The compiler's message after its first line: pages about the largest buffers. May be empty.
  std::string details;
};

}  // namespace axle
