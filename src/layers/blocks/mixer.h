// The role Mixer: attention, feed-forward, state-space and expert layers.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   D model dim
#pragma once

#include "layers/mesh_axes.h"
#include "nn/layer.h"

namespace axle {

/// What mixers know of the tokens beside their vectors.
struct MixerContext {
  /// i32[B, T], the place of each token in its text; none: 0, 1, ... in each row. While decoding,
  /// the place in the cache.
  std::optional<Tensor> positions = {};
  /// i32[B, T]: tokens see those of an equal number alone; none: all of the row.
  std::optional<Tensor> segment_ids = {};
  /// i32[B], while decoding: the last token of each row in this call, what stands behind it is
  /// padding; none: rows have no padding.
  std::optional<Tensor> last_index = {};

  /// x_BD of the last token of each row: what a state keeps of x_BTD.
  Tensor last(const Tensor& x_BTD) const;

  template <class F>
  void each_field(F&& fn) {
    fn("positions", positions);
    fn("segment_ids", segment_ids);
    fn("last_index", last_index);
  }
  static MixerContext read(InputReader& inputs, const std::string& prefix);
};

/// What the layer above tells.
struct MixerDims {
  /// Size of the last dim of x and y.
  Positive<int64_t> model_dim;
  AXLE_CONFIG(MixerDims, model_dim)
};

/// Mixes positions or channels: x_BTD -> y_BTD, dtype of x, without residual or norm. Decodes only
/// with state, or if it says that it looks at no other position (Layer::can_decode).
class Mixer : public LayerRole<Mixer, Tensor(const Tensor& x_BTD, const MixerContext& context)> {
 public:
  using Dims = MixerDims;
  static constexpr InputNames kInputs = {"x", "context"};
  using LayerRole::LayerRole;
};

/// A mixer with its residual, or several of them: x_BTD -> y_BTD, dtype of x.
class Block : public LayerRole<Block, Tensor(const Tensor& x_BTD, const MixerContext& context)> {
 public:
  using Dims = MixerDims;
  static constexpr InputNames kInputs = {"x", "context"};
  using LayerRole::LayerRole;

 protected:
  friend LayerRole;
  static PartitionSpec activation() { return kTokenAxes; }
};

}  // namespace axle
