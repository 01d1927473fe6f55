// Equal blocks one after another, as a scan: the loop of Repeat and of each stage of Pipeline.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "layers/blocks/mixer.h"

namespace axle {

/// What the blocks of one call read besides their activations.
struct LayerStack {
  /// Parameters by path; a leading dim counts the blocks.
  Tree<Tensor> parameters;
  /// Options of the call. The state of the blocks has the same leading dim.
  InvocationOptions options;
  /// u32 scalar: the number of the first block; none: 0.
  std::optional<Tensor> first = {};
};

/// Returns the stack of all blocks like `layer` in the current call. Their values have paths below
/// the path of `layer`.
LayerStack current_stack(const Block& layer);

struct LayerLoop {
  /// Called once for each set of parameters.
  Block& layer;
  /// Path of the call that the loop is part of.
  std::string path;
  int64_t num_layers;
  int64_t unroll = 1;

  /// Returns x after all blocks, and what they collect: stacked along a leading dim, but for values
  /// that are published, which are the newest ones. Block i draws from fold_in(key, first + i).
  std::pair<Tensor, OutputCollection> run(const Tensor& x_BTD, const MixerContext& context,
                                          const LayerStack& stack) const;
};

}  // namespace axle
