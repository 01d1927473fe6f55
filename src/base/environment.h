// Variables of the process's environment, as text.
#pragma once

#include <cstdlib>
#include <string>

namespace axle {

/// The variable's value; "" where it is not set. One that is set to nothing counts as not set.
inline std::string environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? value : "";
}

}  // namespace axle
