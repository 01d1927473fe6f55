// Layers one after another: stacked, repeated in one loop, or by a pattern.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/fields.h"
#include "layers/blocks/norm_placements.h"
#include "layers/mixer.h"

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

// Equal blocks one after another, run as a scan. The size of the program does not depend on their
// number.

/// x -> `layer` applied num_layers times, each time with its own parameters.
///
/// Shapes: x_BTD -> y_BTD, dtype of x.
/// Parameters, state and collected outputs are the layer's, stacked along a leading dim of
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

/// Layer i is a copy of pattern[i % pattern.size()], with parameters of its own: five layers with a
/// sliding window and one without, dense and expert layers alternating. Whole groups are one loop
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
