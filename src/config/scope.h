// The place in the tree where a module is built, passed from parent to child.
#pragma once

#include <string>

#include "base/text/text.h"

namespace axle {

class Construction;

struct Scope {
  std::string path = {};
  /// The path as configs spell it, for messages: "decoder.layers.layers[1]"; empty: `path` with
  /// dots for slashes.
  std::string config_path = {};
  /// Options of the slot that holds the module's config (a `Role::Options`), set by Child::build.
  /// Valid only during construction.
  const void* options = nullptr;
  /// The sizes that the parent gives (a `Role::Dims`), set by Child::build. Valid only during
  /// construction.
  const void* dims = nullptr;
  /// The module that builds this one, for roles whose modules know its type (nn/layer.h). Valid
  /// only during construction.
  const void* parent = nullptr;
  /// Where the modules of the tree note their mistakes; null: the module is built alone and throws
  /// its first one. Valid only during construction.
  Construction* construction = nullptr;

  /// Returns config_path, whether it is set or not.
  std::string as_config() const { return config_path.empty() ? dotted(path) : config_path; }
};

}  // namespace axle
