// Equal blocks one after another, run as a scan. The size of the program does not depend on their
// number.
#pragma once

#include "config/fields/ranged.h"
#include "config/fields/required.h"
#include "layers/blocks/transformer_layer.h"

namespace axle {

/// x -> `layer` applied num_layers times, each time with its own parameters.
///
/// Shapes: x_BTD -> y_BTD, dtype of x.
/// Parameters, state and collected outputs are those of the layer, stacked along a leading dim of
/// size num_layers. This dim is replicated over the mesh. Iteration i draws from fold_in(key, i).
class Repeat final : public Block {
 public:
  struct Config {
    /// Number of blocks.
    Required<Positive<int64_t>> num_layers = REQUIRED;
    /// Blocks that the compiled program runs before it looks at its counter. More make a larger
    /// program, which may run faster. Ops, their order, dtypes and random numbers stay the same; on
    /// the interpreter so do all bits. A compiler may fuse the ops of neighbouring blocks and round
    /// fewer values between them, so that results differ in their last bits, most in bf16.
    Positive<int64_t> unroll = 1;
    /// Config of every block; each block has its own parameters.
    Child<Block> layer = TransformerLayer::Config{};
    AXLE_CONFIG(Repeat, num_layers, unroll, layer)
  };
  Repeat(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }
  Tree<ParamSpec> param_specs() const override;
  Tree<ParamSpec> state_specs() const override;
  Tree<Tensor> initialize(const random::Key& key) const override;
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override;

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;

 private:
  int64_t num_layers_, unroll_;
  Handle<Block> layer_;
};

}  // namespace axle
