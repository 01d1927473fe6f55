#include "layers/blocks/stacked.h"

#include <fmt/format.h>

#include "config/register.h"

namespace axle {

Stacked::Stacked(const Config& cfg, const Dims& dims, const Scope& scope) : Block(scope) {
  const int64_t n = cfg.num_layers;
  if (!cfg.layers.empty() && static_cast<int64_t>(cfg.layers.size()) != n) {
    fail("layers", fmt::format("must have num_layers entries or none, got {} and num_layers = {}",
                               cfg.layers.size(), n));
  }
  if (n > kMaxUnrolled) {
    fail("num_layers",
         fmt::format("at most {} blocks can be unrolled, got {}; use Repeat", kMaxUnrolled, n));
  }
  if (cfg.layers.empty() && !cfg.layer)
    fail("layer", "expected a block, got none; set it or layers");
  // If one block cannot be built, the others of the same config cannot either.
  for (int64_t i = 0; i < n && !(cfg.layers.empty() && has_unbuilt_child()); ++i) {
    const bool is_own = !cfg.layers.empty();
    layers_.push_back(child(fmt::format("layer{}", i),
                            is_own ? cfg.layers[static_cast<size_t>(i)] : *cfg.layer, dims,
                            is_own ? fmt::format("layers[{}]", i) : "layer"));
  }
}

Tensor Stacked::forward(const Tensor& x_BTD, const MixerContext& context) {
  Tensor y_BTD = x_BTD;
  for (const auto& layer : layers_) y_BTD = layer(y_BTD, context);
  return y_BTD;
}

AXLE_REGISTER(Stacked)

}  // namespace axle
