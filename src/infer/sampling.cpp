#include "infer/sampling.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/movement/sort.h"
#include "ops/random/random.h"
#include "ops/reductions/cumulative.h"
#include "ops/reductions/reduce.h"
#include "ops/reductions/softmax.h"

namespace axle {
namespace {

// Smaller numbers are 0 in f32, or subnormal and therefore slow.
constexpr double kSmallest = 1e-30;

// Returns sorted logits (best first) with -inf for all that follow the first ones whose
// probabilities sum to `top_p`.
Tensor cut_to_top_p(const Tensor& sorted_BK, double top_p) {
  const Tensor probs_BK = softmax(sorted_BK);
  const Tensor before_BK = cumsum(probs_BK, -1) - probs_BK;
  // The first logit always stays, even if top_p is 0 in f32.
  return select(before_BK < std::max(top_p, kSmallest), sorted_BK,
                -std::numeric_limits<double>::infinity());
}

}  // namespace

void check(const Sampling& s) {
  if (!(s.temperature >= 0) || std::isinf(s.temperature)) {
    throw ConfigError(
        fmt::format("temperature: expected 0 or a positive number, got {}", s.temperature));
  }
  if (s.temperature > 0 && s.temperature < kSmallest) {
    throw ConfigError(
        fmt::format("temperature: expected 0 or at least {}, got {}", kSmallest, s.temperature));
  }
  if (s.top_k && *s.top_k < 1)
    throw ConfigError(fmt::format("top_k: expected at least 1, got {}", *s.top_k));
  if (s.top_p && !(*s.top_p > 0 && *s.top_p <= 1)) {
    throw ConfigError(fmt::format("top_p: expected more than 0 and at most 1, got {}", *s.top_p));
  }
}

Tensor sample(const Tensor& logits_BV, const random::Key& key, const Sampling& s) {
  if (s.temperature == 0) return argmax(logits_BV);
  // The maximum is shifted to 0, so that a small temperature can overflow only to -inf.
  const Tensor wide_BV = astype(logits_BV, DType::kF32);
  const Tensor scaled_BV = (wide_BV - reduce_max(wide_BV, {-1}, true)) / s.temperature;
  const bool cuts_p = s.top_p && *s.top_p < 1;
  if (!s.top_k && !cuts_p) return random::categorical(key, scaled_BV);

  const int64_t vocab_size = logits_BV.dim(1);
  const auto [sorted_BK, ids_BK] =
      top_k(scaled_BV, std::min(s.top_k.value_or(vocab_size), vocab_size));
  const Tensor chosen_B =
      random::categorical(key, cuts_p ? cut_to_top_p(sorted_BK, *s.top_p) : sorted_BK);
  return squeeze(take_along_axis(ids_BK, expand_dims(chosen_B, 1)), {1});
}

}  // namespace axle
