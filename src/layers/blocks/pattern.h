// Layers that repeat a pattern of unlike blocks.
#pragma once

#include "layers/blocks/repeat.h"
#include "layers/blocks/stacked.h"

namespace axle {

/// Layer i is a copy of pattern[i % pattern.size()], with parameters of its own: five layers with a
/// sliding window and one without, dense and expert layers by turns. Whole groups are one loop
/// ("groups", of "layer0", "layer1", ...); the layers of the last, incomplete group follow unrolled
/// ("rest"). Shapes: x_BTD -> y_BTD, dtype of x.
///
/// Throws ConfigError at construction if `pattern` is empty.
class Pattern final : public Block {
 public:
  struct Config {
    /// Number of layers. It need not be a multiple of the size of the pattern.
    Required<Positive<int64_t>> num_layers = REQUIRED;
    /// The blocks of one group, in order.
    std::vector<Child<Block>> pattern = {};
    /// Groups that one pass of the loop computes (Repeat).
    Positive<int64_t> unroll = 1;
    AXLE_CONFIG(Pattern, num_layers, pattern, unroll)
  };
  Pattern(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;

 private:
  std::optional<Handle<Block>> groups_, rest_;
};

}  // namespace axle
