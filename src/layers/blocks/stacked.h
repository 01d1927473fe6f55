// Blocks one after another, each written out in the program.
#pragma once

#include "config/fields/ranged.h"
#include "config/fields/required.h"
#include "layers/blocks/transformer_layer.h"

namespace axle {

/// x -> layer<n-1>(.. layer1(layer0(x))). Shapes: x_BTD -> y_BTD, dtype of x.
///
/// The children are called layer0, layer1, ... Throws ConfigError at construction if `layers` is
/// set and has another size than num_layers, and for more than 4096 blocks.
class Stacked final : public Block {
 public:
  struct Config {
    /// How many blocks there are.
    Required<Positive<int64_t>> num_layers = REQUIRED;
    /// All layers, unless `layers` names them.
    Child<Block> layer = TransformerLayer::Config{};
    /// One config for each layer; empty: all are `layer`.
    std::vector<Child<Block>> layers = {};
    AXLE_CONFIG(Stacked, num_layers, layer, layers)
  };
  Stacked(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;

 private:
  std::vector<Handle<Block>> layers_;
};

}  // namespace axle
