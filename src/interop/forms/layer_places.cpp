#include "interop/forms/layer_places.h"

#include <fmt/format.h>

#include "layers/blocks/pattern.h"
#include "layers/blocks/repeat.h"
#include "layers/blocks/stacked.h"
#include "layers/pipeline/pipeline.h"

namespace axle {
namespace {

class Places {
 public:
  void add(const Child<Block>& block, const LayerPlace& at) {
    if (const auto* const repeat = block.get_if<Repeat>()) {
      add_loop(repeat->layer, repeat->num_layers, at);
    } else if (const auto* const pipeline = block.get_if<Pipeline>()) {
      add_loop(pipeline->layer, pipeline->num_layers, at);
    } else if (const auto* const stacked = block.get_if<Stacked>()) {
      for (int64_t i = 0; i < stacked->num_layers; ++i) {
        const bool is_own = !stacked->layers.empty();
        add(is_own ? stacked->layers[static_cast<size_t>(i)] : *stacked->layer,
            below(at, fmt::format("layer{}", i)));
      }
    } else if (const auto* const pattern = block.get_if<Pattern>()) {
      add_pattern(*pattern, at);
    } else {
      out_.push_back(at);
      out_.back().layer = block;
    }
  }
  std::vector<LayerPlace> take() { return std::move(out_); }

 private:
  static LayerPlace below(LayerPlace at, const std::string& name) {
    at.path += "/" + name;
    return at;
  }
  static LayerPlace turn(LayerPlace at, int64_t i, int64_t n) {
    at.index = at.index * n + i;
    at.count *= n;
    return at;
  }
  void add_loop(const Child<Block>& layer, int64_t n, const LayerPlace& at) {
    for (int64_t i = 0; i < n; ++i) add(layer, turn(below(at, "layer"), i, n));
  }
  void add_pattern(const Pattern::Config& pattern, const LayerPlace& at) {
    const auto size = static_cast<int64_t>(pattern.pattern.size());
    const int64_t num_groups = pattern.num_layers / size;
    for (int64_t i = 0; i < pattern.num_layers; ++i) {
      const int64_t group = i / size;
      const std::string name = fmt::format("layer{}", i % size);
      const LayerPlace groups = turn(below(below(at, "groups/layer"), name), group, num_groups);
      add(pattern.pattern[static_cast<size_t>(i % size)],
          group < num_groups ? groups : below(at, "rest/" + name));
    }
  }

  std::vector<LayerPlace> out_;
};

}  // namespace

std::vector<LayerPlace> layer_places(const Child<Block>& stack, const std::string& path) {
  Places places;
  places.add(stack, {.path = path, .layer = {}});
  return places.take();
}

}  // namespace axle
