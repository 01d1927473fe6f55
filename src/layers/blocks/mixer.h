// The role Mixer of a block, how its result joins the residual, and published results.
#pragma once

#include "config/config_type.h"
#include "layers/dropout/dropout.h"
#include "layers/mesh_axes.h"
#include "nn/layer.h"

namespace axle {

// The role Mixer: attention, feed-forward, state-space and expert layers. The role Block: mixers
// with their residuals.
//
// Letters in tensor names from here on:
//   B batch   T positions   D model dim

/// The name under which a model publishes streams of positions, i32[number of streams, B, T].
inline constexpr const char* kPositionStreams = "position_streams";

/// What mixers know about the tokens besides their activations.
struct MixerContext {
  /// i32[B, T]: position of each token in its sequence, or in the cache while decoding. None means
  /// 0, 1, ... in each row.
  std::optional<Tensor> positions = {};
  /// i32[B, T]: a token sees only tokens with the same segment id; none: a row is one segment.
  std::optional<Tensor> segment_ids = {};
  /// i32[B], for decoding: index of the last token of each row in this call. Tokens after it are
  /// padding; none: rows have no padding.
  std::optional<Tensor> last_index = {};
  /// i32[B]: number of tokens at the beginning of each row that all its tokens may see
  /// (PrefixMask). Or i32[B, T], for rows of several segments: a token may see the tokens of its
  /// segment before this index of the row. None: rows have no prefix.
  std::optional<Tensor> prefix_lengths = {};

  /// Returns x_BD of the last token of each row of x_BTD.
  Tensor last(const Tensor& x_BTD) const;

  template <class F>
  void each_field(F&& fn) {
    fn("positions", positions);
    fn("segment_ids", segment_ids);
    fn("last_index", last_index);
    fn("prefix_lengths", prefix_lengths);
  }
  static MixerContext read(InputReader& inputs, const std::string& prefix);
};

/// The size of a mixer or block, given by the parent layer.
struct MixerDims {
  /// Size of the last dim of x and y.
  Positive<int64_t> model_dim;
  AXLE_CONFIG(MixerDims, model_dim)
};

/// Mixes positions or channels: x_BTD -> y_BTD, dtype of x, without residual or norm.
///
/// A mixer can decode only if it keeps decode state, or declares that it looks at no other position
/// (Layer::can_decode).
class Mixer : public LayerRole<Mixer, Tensor(const Tensor& x_BTD, const MixerContext& context)> {
 public:
  using Dims = MixerDims;
  static constexpr InputNames kInputs = {"x", "context"};
  static constexpr InputVectors kVectors = {&Dims::model_dim, 3};
  static constexpr bool kKeepsType = true;
  using LayerRole::LayerRole;
};

/// One or several mixers with their residuals: x_BTD -> y_BTD, dtype of x.
class Block : public LayerRole<Block, Tensor(const Tensor& x_BTD, const MixerContext& context)> {
 public:
  using Dims = MixerDims;
  static constexpr InputNames kInputs = {"x", "context"};
  static constexpr InputVectors kVectors = {&Dims::model_dim, 3};
  static constexpr bool kKeepsType = true;
  using LayerRole::LayerRole;

 protected:
  friend LayerRole;
  static PartitionSpec activation() { return kTokenAxes; }
};

extern template class LayerRole<Mixer, Mixer::Signature>;
extern template class LayerRole<Block, Block::Signature>;

// The role Join: how a block joins the result of its body with its input.
//
// Letters in tensor names from here on:
//   B batch   T positions   D model dim

/// x_BTD and the result of the body y_BTD -> z_BTD, dtype of x.
class Join : public LayerRole<Join, Tensor(const Tensor& x_BTD, const Tensor& y_BTD)> {
 public:
  /// Empty: a join needs no sizes.
  struct Dims {
    AXLE_CONFIG(Dims)
  };
  static constexpr InputNames kInputs = {"x", "y"};
  static constexpr bool kKeepsType = true;
  using LayerRole::LayerRole;
  /// A join looks only at its own position.
  bool can_decode() const override { return true; }
};

/// z = x + weight * y.
class Add final : public Join {
 public:
  struct Config {
    /// Factor of the body's result: any number.
    double weight = 1;
    static constexpr std::string_view kFromNumber = "weight";
    AXLE_CONFIG(Add, weight)
  };
  Add(const Config& cfg, const Dims&, const Scope& scope) : Join(scope), weight_(cfg.weight) {}

 protected:
  Tensor forward(const Tensor& x_BTD, const Tensor& y_BTD) override;

 private:
  double weight_;
};

extern template class LayerRole<Join, Join::Signature>;

/// z = x + sigmoid(gate) * y. Parameter: gate, one f32|bf16 scalar.
///
/// Summary: "gate", sigmoid(gate).
class GatedAdd final : public Join {
 public:
  struct Config {
    /// The gate before the sigmoid at the start: any number.
    double initial = 0;
    AXLE_CONFIG(GatedAdd, initial)
  };
  GatedAdd(const Config& cfg, const Dims&, const Scope& scope);

 protected:
  Tensor forward(const Tensor& x_BTD, const Tensor& y_BTD) override;

 private:
  Param gate_;
};

/// z = join(x, drop(y)): training leaves out the body's result in some rows of the batch.
class StochasticJoin final : public Join {
 public:
  struct Config {
    /// Drops y.
    Child<StochasticDepth> drop = StochasticDepth::Config{};
    /// Joins x with what is left of y.
    Child<Join> join = Add::Config{};
    AXLE_CONFIG(StochasticJoin, drop, join)
  };
  StochasticJoin(const Config& cfg, const Dims&, const Scope& scope)
      : Join(scope), drop_(child("drop", cfg.drop, {})), join_(child("join", cfg.join, {})) {}

 protected:
  Tensor forward(const Tensor& x_BTD, const Tensor& y_BTD) override;

 private:
  Handle<StochasticDepth> drop_;
  Handle<Join> join_;
};

/// x -> body(x), published under a name for the layers after it (SourceQKV). Shapes: x_BTD ->
/// y_BTD.
class Published final : public Block {
 public:
  struct Config {
    /// The name under which the result is published.
    std::string name = "source";
    /// The block that computes the result.
    Child<Block> body = {};
    AXLE_CONFIG(Published, name, body)
  };
  Published(const Config& cfg, const Dims& dims, const Scope& scope)
      : Block(scope), name_(cfg.name), body_(child("body", cfg.body, dims)) {}
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override {
    const Tensor y_BTD = body_(x_BTD, context);
    publish(name_, y_BTD);
    return y_BTD;
  }

 private:
  std::string name_;
  Handle<Block> body_;
};

}  // namespace axle
