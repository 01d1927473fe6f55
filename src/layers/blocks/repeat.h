// Equal blocks one after another, as a loop: the program's size does not depend on their number.
#pragma once

#include "config/fields/ranged.h"
#include "config/fields/required.h"
#include "layers/blocks/transformer_layer.h"

namespace axle {

/// x -> layer applied num_layers times, each time with parameters of its own. Shapes: x_BTD ->
/// y_BTD, dtype of x.
///
/// Parameters and state are those of the layer with a leading dim of num_layers,
/// replicated over the mesh; so are all outputs that the layer collects. Iteration i draws from
/// fold_in(key, i).
class Repeat final : public Block {
 public:
  struct Config {
    /// How often the block is applied.
    Required<Positive<int64_t>> num_layers = REQUIRED;
    /// The block; each layer has parameters of its own.
    Child<Block> layer = TransformerLayer::Config{};
    AXLE_CONFIG(Repeat, num_layers, layer)
  };
  Repeat(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }
  Tree<ParamSpec> param_specs() const override;
  Tree<ParamSpec> state_specs() const override;
  Tree<Tensor> initialize(const Tensor& key) const override;
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override;

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;

 private:
  Tree<ParamSpec> stacked(Tree<ParamSpec> specs) const;
  int64_t num_layers_;
  Handle<Block> layer_;
};

}  // namespace axle
