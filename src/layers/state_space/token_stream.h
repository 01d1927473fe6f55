// What recurrent mixers know about the tokens of a call.
//
// Letters in tensor names, for this file only:
//   B batch   T positions
#pragma once

#include "layers/blocks/mixer.h"

namespace axle {

/// Tokens of a call, for layers whose state crosses calls.
struct TokenStream {
  /// i32[B, T]: a token depends only on earlier tokens of its own segment; none: a row is one
  /// segment. Padding has the segment of the last token.
  std::optional<Tensor> segments_BT = {};
  /// pred[B, T]: false for padding after the last token of a row; none: there is no padding.
  std::optional<Tensor> live_BT = {};
  /// i32[B]: index of the last token that counts; none: it is T - 1.
  std::optional<Tensor> last_B = {};

  /// Returns the tokens of x[B, T, ..].
  static TokenStream of(const Tensor& x, const MixerContext& context);
  /// Returns x[B, T, ..] with zeros in place of padding.
  Tensor without_padding(const Tensor& x) const;
};

/// Returns the decode state of the recurrence at `path`: "state" f32[B, ..dims], with dims[0] over
/// `axes`, and "segment" i32[B], the segment of the newest token.
Tree<StateSpec> recurrence_state_specs(std::string_view path, int64_t batch_size, Shape dims,
                                       const DimAxes& axes);

}  // namespace axle
