// The keys and values of one call of attention, with their positions and segments.
//
// Letters in tensor names, for this file only:
//   B batch   S keys   K key/value heads   H head dim
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

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

struct HeadSizes {
  int64_t num_heads, num_kv_heads, head_dim;
};

/// Fills what a config leaves open: num_kv_heads = num_heads, head_dim = model_dim / num_heads.
/// Calls `note(field, what)` if num_kv_heads does not divide num_heads, if head_dim is none and
/// num_heads does not divide the model dim, or if a weight of these sizes is too large. It then
/// returns sizes that other parts accept, so that only their own mistakes are found after it.
HeadSizes head_sizes(
    int64_t model_dim, int64_t num_heads, std::optional<int64_t> num_kv_heads,
    std::optional<int64_t> head_dim,
    const std::function<void(std::string_view field, std::string_view what)>& note);

}  // namespace axle
