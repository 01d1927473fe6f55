// The place in the tree where a module is built, passed from parent to child.
#pragma once

#include <string>

namespace axle {

struct Scope {
  std::string path = {};
  /// Options of the slot that holds the module's config (a `Role::Options`), set by Child::build.
  /// Valid only during construction.
  const void* options = nullptr;
  /// The module that builds this one, for roles whose modules know its type (nn/layer.h). Valid
  /// only during construction.
  const void* parent = nullptr;
};

}  // namespace axle
