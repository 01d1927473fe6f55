// Draws a token from the logits of a position.
//
// Letters in tensor names, for this file only:
//   B batch   V vocabulary   K candidates
//
// Source of top_p: Holtzman et al. 2019, arXiv 1904.09751, section 3.1.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/tensor.h"
#include "ops/random/key.h"

namespace axle {

/// How a token is drawn: the logits are divided by the temperature, then cut to the top k, then to
/// the top p.
struct Sampling {
  /// 0: greedy, the most likely token (the first among equals).
  double temperature = 0;
  /// Only the k most likely tokens can be drawn, the first ones among equals; none: all.
  std::optional<int64_t> top_k = {};
  /// Only the smallest set of most likely tokens whose probabilities sum to at least this can be
  /// drawn; none: all.
  std::optional<double> top_p = {};

  auto operator<=>(const Sampling&) const = default;
};

/// Throws ConfigError if the temperature is below 0, between 0 and 1e-30 or not finite, if top_k is
/// below 1, or if top_p is outside (0, 1].
void check(const Sampling& sampling);

/// Traced: returns one token for each row of logits_BV, i32[B]. `key` must not be used again;
/// with temperature 0 it may be none.
Tensor sample(const Tensor& logits_BV, const random::Key& key, const Sampling& sampling);

}  // namespace axle
