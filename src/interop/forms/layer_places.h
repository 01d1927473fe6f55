// Where each layer of a model has its parameters.
#pragma once

#include <string>
#include <vector>

#include "layers/blocks/mixer.h"

namespace axle {

/// A layer that is no stack of others.
struct LayerPlace {
  /// The path of its parameters: "decoder/layers/layer".
  std::string path;
  /// The layers that lie stacked there, along the leading dims of each parameter, and which of them
  /// this one is.
  int64_t count = 1, index = 0;
  Child<Block> layer;
};

/// Returns the layers of a stack in the order in which they run, also those of stacks in it:
/// Repeat, Stacked, Pattern, Pipeline. `path` is that of the stack.
std::vector<LayerPlace> layer_places(const Child<Block>& stack, const std::string& path);

}  // namespace axle
