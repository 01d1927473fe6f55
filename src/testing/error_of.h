// Gets the message of the error that a function throws.
#pragma once

#include <string>

#include "base/error.h"

namespace axle {

/// Returns the message of the E that fn() throws; "no error" if it throws nothing. Does not catch
/// errors of other types.
template <class E = ConfigError, class Fn>
std::string error_of(Fn&& fn) {
  try {
    fn();
  } catch (const E& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace axle
