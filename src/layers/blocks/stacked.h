// Blocks one after another, unrolled in the program.
#pragma once

#include <optional>
#include <vector>

#include "config/fields/ranged.h"
#include "config/fields/required.h"
#include "layers/blocks/transformer_layer.h"

namespace axle {

/// The largest number of unrolled blocks: larger programs would take hours to compile.
inline constexpr int64_t kMaxUnrolled = 4096;

/// x -> layer<n-1>(.. layer1(layer0(x))). Shapes: x_BTD -> y_BTD, dtype of x.
///
/// The children are named layer0, layer1, ... Throws ConfigError at construction if `layers` is not
/// empty and its size differs from num_layers, if both `layer` and `layers` are empty, or if
/// num_layers > kMaxUnrolled.
class Stacked final : public Block {
 public:
  struct Config {
    /// Number of blocks.
    Required<Positive<int64_t>> num_layers = REQUIRED;
    /// Config of every block; unused if `layers` is set. None: `layers` is set.
    std::optional<Child<Block>> layer = TransformerLayer::Config{};
    /// One config for each block; empty: all blocks use `layer`.
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
