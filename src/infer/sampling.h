// From the logits of a position to its token.
//
// Letters in tensor names, for this file only:
//   B batch   V vocabulary   K candidates
//
// Source of top_p: Holtzman et al. 2019, arXiv 1904.09751, section 3.1.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/tensor.h"

namespace axle {

/// How a token is drawn: logits are divided by the temperature, then cut to the top k, then to the
/// top p.
struct Sampling {
  /// 0: the most likely token, the first of equals; nothing is drawn then.
  double temperature = 0;
  /// Only so many of the most likely tokens can be drawn, of equals the first; none: all.
  std::optional<int64_t> top_k = {};
  /// Only the fewest most likely tokens whose probabilities sum to at least this can be drawn;
  /// none: all.
  std::optional<double> top_p = {};

  auto operator<=>(const Sampling&) const = default;
};

/// Throws ConfigError for a temperature below 0, between 0 and 1e-30 or not finite, a top_k below
/// 1, a top_p outside (0, 1].
void check(const Sampling& sampling);

/// Traced: one token for each row of logits_BV, i32[B]. `key` u32[2] is used up; without a
/// temperature it may be none.
Tensor sample(const Tensor& logits_BV, const Tensor& key, const Sampling& sampling);

}  // namespace axle
