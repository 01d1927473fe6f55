// Where a module is built: its place in the tree, handed from parent to child.
#pragma once

#include <string>

namespace axle {

struct Scope {
  std::string path = {};
  /// Options of the slot that the module is built from, a `Role::Options`; Child::build sets it.
  /// Valid while building.
  const void* options = nullptr;
  /// The module that builds this one, where the role's modules know what it is (nn/layer.h). Valid
  /// while building.
  const void* parent = nullptr;
};

}  // namespace axle
