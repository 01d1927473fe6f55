// Collects the mistakes of one text or command line, so that one error reports them together.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text/text.h"

namespace axle {

class Mistakes {
 public:
  /// The number of mistakes that are collected: more of them help nobody, and a hostile text may
  /// hold millions.
  static constexpr size_t kMax = 20;
  /// Stands for the mistakes that are left out.
  static constexpr std::string_view kRest = "the rest was not checked";

  /// Adds the lines of a message; a line that is already there, perhaps without a place in front of
  /// it, is not added again. `code` is the exit code of a program that ends with it.
  void add(std::string_view message, ExitCode code = ExitCode::kUser) {
    code_ = lines_.empty() || code == code_ ? code : ExitCode::kUser;
    for (const std::string_view line : split(message, '\n')) {
      const auto is_line = [&](const std::string& one) {
        return line == one || line.ends_with(": " + one);
      };
      if (std::ranges::none_of(lines_, is_line)) lines_.emplace_back(line);
    }
  }
  /// Calls fn() and adds the message of a ConfigError that it throws. Throws all mistakes once
  /// there are kMax.
  template <class F>
  void attempt(F fn) {
    try {
      return fn();
    } catch (const ConfigError& error) {
      add(error.what());
    }
    if (lines_.size() < kMax) return;
    add(kRest);
    throw_any();
  }
  /// Calls fn(). Adds the message of a mistake of the user that it throws, of any kind, and returns
  /// false if there is one. Rethrows internal errors.
  template <class F>
  bool passes(F fn) {
    try {
      fn();
      return true;
    } catch (const InternalError&) {
      throw;
    } catch (const Error& error) {
      add(error.what(), error.code());
      return false;
    }
  }
  size_t size() const { return lines_.size(); }
  const std::vector<std::string>& lines() const { return lines_; }
  /// Adds all of the others.
  void add_all(const Mistakes& others) {
    for (const std::string& line : others.lines_) add(line, others.code_);
  }
  /// Throws one error with all lines, if there are any: a ConfigError, or an Error with the code
  /// that all of them have.
  void throw_any() const {
    if (lines_.empty()) return;
    if (code_ == ExitCode::kUser) throw ConfigError(join(lines_, "\n"));
    throw Error(join(lines_, "\n"), code_);
  }

 private:
  std::vector<std::string> lines_;
  ExitCode code_ = ExitCode::kUser;  // of all lines
};

/// Returns the message with `where: ` in front of each line.
inline std::string with_location(std::string_view where, std::string_view message) {
  std::string out;
  for (const std::string_view line : split(message, '\n'))
    out.append(out.empty() ? "" : "\n").append(where).append(": ").append(line);
  return out;
}

}  // namespace axle
