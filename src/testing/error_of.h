// Gets the error that a function throws.
#pragma once

#include <string>

#include "base/error.h"

namespace axle {

/// The message and the exit code of an error (kOk for an exception that has none).
struct Thrown {
  std::string message = "no error";
  ExitCode code = ExitCode::kOk;
};

/// Returns the E that fn() throws, with the defaults of Thrown if it throws nothing. Does not catch
/// errors of other types.
template <class E = Error, class Fn>
Thrown thrown_by(Fn&& fn) {
  try {
    fn();
  } catch (const E& error) {
    Thrown out{error.what()};
    if constexpr (requires { error.code(); }) out.code = error.code();
    return out;
  }
  return {};
}

/// Returns the message of the E that fn() throws; "no error" if it throws nothing.
template <class E = ConfigError, class Fn>
std::string error_of(Fn&& fn) {
  return thrown_by<E>(fn).message;
}

}  // namespace axle
