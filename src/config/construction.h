// What is wrong with a tree of modules, collected while it is built, so that one error reports it
// all; and which class of another project it was that failed.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/mistakes.h"
#include "config/config_type.h"

namespace axle {

/// A module refuses what it got from the modules above, such as a size. Others may refuse the same,
/// so a construction reports the first of these errors alone.
struct InheritedError : ConfigError {
  using ConfigError::ConfigError;
};

/// A module uses a part that could not be built. The mistake of the part is noted, so this one is
/// not reported.
struct UnbuiltPart : InternalError {
  UnbuiltPart() : InternalError("a part that could not be built is used") {}
};

class Construction {
 public:
  /// Notes the lines of the error, each once, and about Mistakes::kMax of them.
  void note(const ConfigError& error);
  /// Calls fn(). If it throws ConfigError, notes the error and returns false.
  template <class F>
  bool attempt(F&& fn) {
    try {
      fn();
      return true;
    } catch (const ConfigError& error) {
      note(error);
      return false;
    }
  }
  /// Returns how often note() was called: a module is sound if its construction leaves the number
  /// as it is.
  size_t num_noted() const { return num_noted_; }
  /// From now on, a module that noted a mistake and could still be built stays as a part of the
  /// tree: what it declares can be read, such as the names of its parameters.
  void keep_unsound() { keeps_unsound_ = true; }
  bool keeps_unsound() const { return keeps_unsound_; }
  /// Throws one ConfigError with all lines, if there are any.
  void throw_any() const { mistakes_.throw_any(); }

 private:
  Mistakes mistakes_;
  size_t num_noted_ = 0;
  bool has_inherited_ = false, keeps_unsound_ = false;
};

/// For constructors: the same with the construction of `scope`, so that what follows is checked
/// too. Without one, the error passes.
template <class F>
bool attempt(const Scope& scope, F&& fn) {
  if (scope.construction) return scope.construction->attempt(fn);
  fn();
  return true;
}

/// The innermost call of a class of another project that ended with an exception: that is the
/// mistake of the class, not a bug of Axle.
struct FailedCall {
  std::string class_name;  // "OwnCore"
  std::string where;       // "decoder.layers.layer0.attention.body.core"
};
std::optional<FailedCall> failed_call();
/// For the beginning of what may fail: forgets earlier calls, whose exceptions were handled.
void forget_failed_calls();

/// Stands around a call of a class, and notes it if it ends with an exception, unless the class is
/// Axle's own or a call inside of it was noted before. `where` must live as long.
class ClassCall {
 public:
  ClassCall(const std::type_info& type, std::string_view where)
      : type_(type), where_(where), num_exceptions_(std::uncaught_exceptions()) {}
  ~ClassCall() {
    if (std::uncaught_exceptions() > num_exceptions_) note();
  }
  ClassCall(const ClassCall&) = delete;
  ClassCall& operator=(const ClassCall&) = delete;

 private:
  void note() const;
  const std::type_info& type_;
  std::string_view where_;
  int num_exceptions_;
};

}  // namespace axle
