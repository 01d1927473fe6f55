// The sizes of heads that a config leaves open.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace axle {

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
