// The keys and values of one call of attention, with their positions and segments.
//
// Letters in tensor names, for this file only:
//   B batch   S keys   K key/value heads   H head dim
#pragma once

#include "nn/method.h"

namespace axle {

/// Keys and values. Their head dims may differ.
struct KeyValues {
  Tensor k_BSKH = {}, v_BSKH = {};
  /// i32 [B, S] or [1, S]: the position of each key; none: key s has position s. The keys of a
  /// cache that are later than every query are arbitrary finite values.
  std::optional<Tensor> positions_BS = {};
  /// i32[B, S]: the segment of each key; none: queries see keys of any segment.
  std::optional<Tensor> segments_BS = {};

  template <class F>
  void each_field(F&& fn) {
    fn("key", k_BSKH);
    fn("value", v_BSKH);
    fn("positions", positions_BS);
    fn("segments", segments_BS);
  }
  static KeyValues read(InputReader& inputs, const std::string& prefix);
};

}  // namespace axle
