// What is wrong with a tree of modules, collected while it is built, so that one error reports it
// all.
#pragma once

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

}  // namespace axle
