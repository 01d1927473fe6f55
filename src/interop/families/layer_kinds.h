// Layers of several kinds in one model: how they are stacked, and where their weights lie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "interop/foreign/weight_map.h"
#include "layers/blocks/mixer.h"

namespace axle {

/// The kind of each layer of a model: 0, 1, ...
///
/// Layers of one kind are a loop. A pattern that comes at least twice is a loop over its copies
/// (Pattern). Otherwise the layers of a kind in a row are a loop each, one after the other.
class LayerKinds {
 public:
  /// At least one layer.
  explicit LayerKinds(std::vector<size_t> kinds);
  /// As many layers of one kind.
  static LayerKinds all_alike(int64_t num_layers) {
    return LayerKinds(std::vector<size_t>(static_cast<size_t>(num_layers), 0));
  }
  bool has(size_t kind) const { return std::ranges::count(kinds_, kind) > 0; }
  /// Returns the stack of layers[kind], one for each layer.
  Child<Block> stack(const std::vector<Child<Block>>& layers) const;
  /// Returns the rows of a model of these layers. rows[kind] are those of a model whose layers are
  /// all of the kind, below "decoder/layers/layer/"; what is not of layers comes from the first.
  std::vector<WeightRow> rows(const std::vector<std::vector<WeightRow>>& rows) const;

 private:
  /// Layers of one kind whose parameters are stacked; or one layer alone.
  struct Place {
    std::string ours;  // "decoder/layers/layer/"
    size_t kind = 0;
    int64_t first_layer = 0, stride = 1;
    bool is_stacked = true;
  };
  std::vector<Place> places() const;
  bool repeats_pattern() const { return runs_.size() > 1 && 2 * period_ <= kinds_.size(); }

  std::vector<size_t> kinds_;
  size_t period_ = 1;  // the layers after which the kinds repeat
  struct Run {
    size_t first = 0, count = 0;
  };
  std::vector<Run> runs_;  // layers of a kind in a row
};

}  // namespace axle
