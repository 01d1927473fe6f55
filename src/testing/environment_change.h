// Environment variables that a test sets and that are restored at its end.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace axle {

/// While alive, the variable has this value; none: it is unset.
class EnvironmentChange {
 public:
  EnvironmentChange(std::string name, const std::optional<std::string>& value)
      : name_(std::move(name)) {
    if (const char* old = std::getenv(name_.c_str())) old_ = old;
    set(value);
  }
  ~EnvironmentChange() { set(old_); }
  EnvironmentChange(const EnvironmentChange&) = delete;
  EnvironmentChange& operator=(const EnvironmentChange&) = delete;

  /// Changes the value again. The destructor still restores the first one.
  void set(const std::optional<std::string>& value) {
    if (value) {
      ::setenv(name_.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name_.c_str());
    }
  }

 private:
  std::string name_;
  std::optional<std::string> old_;
};

}  // namespace axle
