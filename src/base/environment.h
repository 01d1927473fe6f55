// Environment variables of the process, as text.
#pragma once

#include <cstdlib>
#include <string>

namespace axle {

/// Returns the value of the variable; "" if it is unset or empty.
inline std::string environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? value : "";
}

}  // namespace axle
