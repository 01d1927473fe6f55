#include "layers/attention/cores/scored_core.h"

#include <fmt/format.h>

#include "config/register.h"
#include "layers/attention/cores/blockwise.h"
#include "layers/mesh_axes.h"
#include "nn/call_forms.h"
#include "ops/create.h"
#include "ops/elementwise/activations.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/broadcast.h"
#include "ops/random/random_part.h"
#include "ops/reductions/reduce.h"

namespace axle {
namespace {

// What a pair of blocks costs beside its part of a call that is computed at once: the backward pass
// computes the scores again, which is a seventh product beside six.
constexpr double kBlockCost = 1.25;
// Calls of so many times the pairs of blocks.from are computed by blocks for their memory alone.
constexpr int64_t kAlwaysFrom = 16;

}  // namespace

Tensor ScoredCore::forward(const Tensor& q_BTNH, const KeyValues& keys,
                           const Visibility& visibility) {
  const Tensor q = per_dim_scale_ ? (*per_dim_scale_)(q_BTNH) : q_BTNH;
  const Form form = this->form(q.dim(1), keys.k_BSKH.dim(1), visibility);
  CallForms::note(path(), (form.plan ? "by blocks: " : "at once: ") + form.why);
  if (form.plan) return by_blocks(*form.plan, q, keys, visibility);
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
  if (logit_cap_) out = soft_cap(out, *logit_cap_);
  if (const Tensor bias = visibility.added())
    out = out + heads.aligned(astype(bias, out.dtype()), true);
  if (const Tensor visible = visibility.visible())
    out = select(broadcast_to(heads.aligned(visible, false), out.shape()), out, kHiddenLogit);
  return out;
}

ScoredCore::Form ScoredCore::form(int64_t num_queries, int64_t num_keys,
                                  const Visibility& visibility) const {
  if (!blocks_.from) return {.why = "core.blocks.from is none"};
  if (CallForms::only_plain()) return {.why = "only plain forms are computed"};
  const int64_t from = *blocks_.from;
  const std::string size = fmt::format("{} queries and {} keys", num_queries, num_keys);
  if (num_queries * num_keys < from * from)
    return {.why = fmt::format("{}, fewer pairs than of {} each (core.blocks.from)", size, from)};
  const Invocation& call = Invocation::current();
  if (dropout_ && (*dropout_)->drops() && !random::draws_parts(call.options().key))
    return {.why = "the generator of the keys of dropout draws no parts"};
  if (visibility.has_empty_places && !(visibility.mask && visibility.mask->is_causal()))
    return {.why = "the mask is not causal: what it hides depends on the last of all queries"};
  // Where devices share the queries of a row, a slice of them would be collected from all.
  const bool is_shared = call.options().mesh.size(kSequenceAxes[0]) > 1;
  BlockPlan plan =
      plan_blocks(num_queries, num_keys, is_shared ? num_queries : int64_t{blocks_.queries},
                  blocks_.keys, visibility);
  const auto num_pairs = static_cast<int64_t>(plan.pairs.size()),
             num_all = plan.num_query_blocks * plan.num_key_blocks;
  std::string why = fmt::format("{}, {} of {} pairs of blocks of {} and {} are not hidden", size,
                                num_pairs, num_all, plan.query_size, plan.key_size);
  const bool is_slower = static_cast<double>(num_pairs) * kBlockCost > static_cast<double>(num_all);
  if (is_slower && num_queries * num_keys < kAlwaysFrom * from * from)
    return {.why = std::move(why)};
  return {.plan = std::move(plan), .why = std::move(why)};
}

Tensor ScoredCore::by_blocks(const BlockPlan& plan, const Tensor& q_BTNH, const KeyValues& keys,
                             const Visibility& visibility) {
  Visibility whole = visibility;
  if (whole.bias && !(*whole.bias)->is_computed_by_blocks()) {
    whole.given_bias = visibility.added();
    whole.bias = nullptr;
  }
  Invocation& outer = Invocation::current();
  InvocationOptions options = outer.nested_options();
  options.summaries = false;  // they would be those of a block alone
  const auto scores = [&](const Tensor& q, const Tensor& k, const Visibility& seen) {
    const Invocation inner(outer.path(), outer.parameters(), options);
    const HeadGroups heads = head_groups(q, {.k_BSKH = k});
    const Tensor own = logits(q, heads, seen);
    return normalises() ? own : weights(own, heads, DType::kF32);
  };
  BlockScores of_blocks{.of_block = scores, .are_logits = normalises(), .sink_N = sink()};
  if (dropout_ && (*dropout_)->drops()) {
    of_blocks.dropped = [&](const Tensor& weights, const Tensor& query_begin,
                            const Tensor& key_begin) {
      const Invocation inner(outer.path(), outer.parameters(), options);
      Shape all = weights.shape();  // [B, .., T, .., S], as HeadGroups says
      all[2] = q_BTNH.dim(1);
      all.back() = keys.k_BSKH.dim(1);
      Values begin(all.size(), scalar(0, DType::kI32));
      begin[2] = query_begin;
      begin.back() = key_begin;
      return (*dropout_)->of_parts(all)(weights, begin);
    };
  }
  const BlockwiseResult result = attend_by_blocks(of_blocks, plan, q_BTNH, keys, whole);
  if (normalises()) add_summary("max_logit", result.max_score);
  return result.y_BTNH;
}

AXLE_REGISTER(AttentionBlocks)

}  // namespace axle
