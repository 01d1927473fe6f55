// The roles Mixer and Block, and what they know of the tokens.
#pragma once

#include "config/config_type.h"
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

}  // namespace axle
