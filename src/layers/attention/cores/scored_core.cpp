#include "layers/attention/cores/scored_core.h"

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/trigonometry.h"
#include "ops/movement/broadcast.h"
#include "ops/reductions/reduce.h"

namespace axle {

Tensor ScoredCore::forward(const Tensor& q_BTNH, const KeyValues& keys,
                           const Visibility& visibility) {
  const Tensor q = per_dim_scale_ ? (*per_dim_scale_)(q_BTNH) : q_BTNH;
  const HeadGroups heads(content_queries(q) * scale_, keys);
  Tensor logits = heads.scores();
  if (const Tensor scores = position_scores(q, visibility))
    logits = logits + heads.aligned(scores * scale_, true);
  if (logit_cap_) logits = *logit_cap_ * tanh(logits / *logit_cap_);
  if (const Tensor bias = visibility.added())
    logits = logits + heads.aligned(astype(bias, logits.dtype()), true);
  if (const Tensor visible = visibility.visible()) {
    logits =
        select(broadcast_to(heads.aligned(visible, false), logits.shape()), logits, kHiddenLogit);
  }
  add_summary("max_logit", reduce_max(logits, all_axes(logits)));
  Tensor probs = weights(logits, heads, keys.v_BSKH.dtype());
  if (dropout_) probs = (*dropout_)(probs);
  return heads.weighted(probs);
}

}  // namespace axle
