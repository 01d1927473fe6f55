#include "layers/attention/cores/scored_core.h"

#include "config/register.h"
#include "layers/attention/cores/blockwise.h"
#include "layers/mesh_axes.h"
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
  if (computes_blocks(keys.k_BSKH.dim(1), visibility)) return by_blocks(q, keys, visibility);
  const HeadGroups heads = head_groups(q, keys);
  const Tensor own = logits(q, heads, visibility);
  add_summary("max_logit", reduce_max(own, all_axes(own)));
  Tensor probs = weights(own, heads, keys.v_BSKH.dtype());
  if (dropout_) probs = (*dropout_)(probs);
  return heads.weighted(probs);
}

HeadGroups ScoredCore::head_groups(const Tensor& q_BTNH, const KeyValues& keys) {
  return HeadGroups(content_queries(q_BTNH) * scale_, keys);
}

Tensor ScoredCore::logits(const Tensor& q_BTNH, const HeadGroups& heads,
                          const Visibility& visibility) {
  Tensor out = heads.scores();
  if (const Tensor scores = position_scores(q_BTNH, visibility))
    out = out + heads.aligned(scores * scale_, true);
  if (logit_cap_) out = *logit_cap_ * tanh(out / *logit_cap_);
  if (const Tensor bias = visibility.added())
    out = out + heads.aligned(astype(bias, out.dtype()), true);
  if (const Tensor visible = visibility.visible())
    out = select(broadcast_to(heads.aligned(visible, false), out.shape()), out, kHiddenLogit);
  return out;
}

bool ScoredCore::computes_blocks(int64_t num_keys, const Visibility& visibility) const {
  if (!blocks_.from || num_keys < *blocks_.from) return false;
  if (dropout_ && Invocation::current().options().training) return false;
  // What is hidden then depends on the last of all queries.
  return !visibility.has_empty_places || (visibility.mask && visibility.mask->is_causal());
}

Tensor ScoredCore::by_blocks(const Tensor& q_BTNH, const KeyValues& keys,
                             const Visibility& visibility) {
  Visibility whole = visibility;
  if (whole.bias && !(*whole.bias)->is_computed_by_blocks()) {
    whole.given_bias = visibility.added();
    whole.bias = nullptr;
  }
  Invocation& outer = Invocation::current();
  // Where devices share the queries of a row, a slice of them would be collected from all.
  const bool is_shared = outer.options().mesh.size(kSequenceAxes[0]) > 1;
  const int64_t num_queries = q_BTNH.dim(1);
  const BlockPlan plan =
      plan_blocks(num_queries, keys.k_BSKH.dim(1),
                  is_shared ? num_queries : int64_t{blocks_.queries}, blocks_.keys, whole);
  InvocationOptions options = outer.nested_options();
  options.summaries = false;  // they would be those of a block alone
  const auto scores = [&](const Tensor& q, const Tensor& k, const Visibility& seen) {
    const Invocation inner(outer.path(), outer.parameters(), options);
    const HeadGroups heads = head_groups(q, {.k_BSKH = k});
    const Tensor own = logits(q, heads, seen);
    return normalises() ? own : weights(own, heads, DType::kF32);
  };
  const BlockwiseResult result =
      attend_by_blocks({.of_block = scores, .are_logits = normalises(), .sink_N = sink()}, plan,
                       q_BTNH, keys, whole);
  if (normalises()) add_summary("max_logit", result.max_score);
  return result.y_BTNH;
}

AXLE_REGISTER(AttentionBlocks)

}  // namespace axle
