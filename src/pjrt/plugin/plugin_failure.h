// What a plugin says when a call fails, and the errors that we throw for it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/exit_code.h"
#include "pjrt/abi.h"

namespace axle {

/// An error that a plugin returned.
struct PluginFailure {
  pjrt::ErrorCode code = pjrt::ErrorCode::kUnknown;
  std::string message;
};

/// "INVALID_ARGUMENT", ...
std::string name_of(pjrt::ErrorCode code);
/// Throws DeviceError `<where>: <CODE>: <message>`; its exit code is kDoesNotFit where a
/// device's memory ran out (PJRT says RESOURCE_EXHAUSTED of other things as well), else
/// `exit_code`.
[[noreturn]] void throw_failure(std::string_view where, const PluginFailure& failure,
                                ExitCode exit_code = ExitCode::kDevice);

/// A compiler's refusal of a program that needs more memory than there is.
struct DoesNotFitError : DeviceError {
  DoesNotFitError(const std::string& message, std::string compilers_details)
      : DeviceError(message, ExitCode::kDoesNotFit), details(std::move(compilers_details)) {}
  /// What the compiler tells behind its first line: pages about the largest buffers; may be empty.
  std::string details;
};

}  // namespace axle
