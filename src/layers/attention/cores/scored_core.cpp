#include "layers/attention/cores/scored_core.h"

#include <fmt/format.h>

#include <cmath>

#include "config/register.h"
#include "layers/attention/cores/blockwise.h"
#include "layers/mesh_axes.h"
#include "nn/layer_role.h"
#include "nn/method.h"
#include "nn/tensor_tree.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"
#include "ops/random/random_part.h"
#include "ops/reductions/reductions.h"

namespace axle {

PerDimScale::PerDimScale(const Config&, const Dims& dims, const Scope& scope)
    : LayerRole(scope), scale_(param("scale", {.shape = {dims.head_dim}, .init = Zeros{}})) {}

Tensor PerDimScale::forward(const Tensor& x) {
  const Tensor factor = softplus(astype(scale_(), DType::kF32)) / std::log(2.0);
  return x * astype(factor, x.dtype());
}

AXLE_REGISTER(PerDimScale::Dims)
AXLE_REGISTER(PerDimScale)

namespace {

// What a pair of blocks costs in training beside its part of a call that is computed at once: the
// backward pass computes the scores again, which is a seventh product beside six.
constexpr double kBlockCost = 1.25;
// Blocks are made larger until there are at most this many pairs, whose numbers the program holds.
constexpr int64_t kMaxPairs = int64_t{1} << 17;
// Blocks are halved while this leaves so large a part of the scores or less, and no further than to
// blocks of kLeastBlock queries or keys: products of small blocks are slower, and more pairs of
// blocks move more sums. So blocks are not smaller than a window.
constexpr double kFinerPays = 2.0 / 3;
constexpr int64_t kLeastBlock = 128;
// Calls of this many times the pairs of blocks.from are computed by blocks for their memory alone.
constexpr double kAlwaysFrom = 16;
// A device holds no more scores of a call at once (256 MiB in f32), if blocks can help it.
constexpr double kMaxScores = 1 << 26;

// A layer inside of the core does what is one thing for all queries and keys.
struct NeedsWholeRows {
  const char* why;
};

// True if there is a bias that is computed for all positions at once.
bool needs_all_places(const Visibility& visibility) {
  return visibility.bias &&
         (*visibility.bias)->dependence(visibility.positions) == BiasDependence::kAll;
}

// The scores [B, N, T, S] of a call that each device has.
double scores_of_device(const Tensor& q_BTNH, int64_t num_keys) {
  const Mesh& mesh = Invocation::current().options().mesh;
  const Shape btn(q_BTNH.shape().begin(), q_BTNH.shape().end() - 1);
  const PartitionSpec axes = restrict({{kBatchAxes, kSequenceAxes, kShardAxes}}, btn, mesh);
  double out = static_cast<double>(num_keys);
  for (size_t dim = 0; dim < btn.size(); ++dim)
    out *= static_cast<double>(btn[dim]) / static_cast<double>(num_parts(axes.dims[dim], mesh));
  return out;
}

// The devices that share the queries of each row.
int64_t num_query_shares(int64_t num_queries) {
  const Mesh& mesh = Invocation::current().options().mesh;
  return num_parts(restrict(PartitionSpec{{kSequenceAxes}}, {num_queries}, mesh), mesh);
}

}  // namespace

Tensor ScoredCore::forward(const Tensor& q_BTNH, const KeyValues& keys,
                           const Visibility& visibility) {
  const Tensor q = per_dim_scale_ ? (*per_dim_scale_)(q_BTNH) : q_BTNH;
  const Form form = this->form(q, keys.k_BSKH.dim(1), visibility);
  std::string why = form.why;
  // Evaluated once, whichever form is taken: its losses and random numbers are as of one call.
  Visibility seen = visibility;
  if (needs_all_places(visibility)) {
    seen.given_bias = visibility.added();
    seen.bias = nullptr;
  }
  if (form.plan) {
    try {
      const Tensor y = by_blocks(*form.plan, q, keys, seen);
      CallForms::note(path(), "by blocks: " + why);
      return y;
    } catch (const NeedsWholeRows& inner) {
      why = inner.why;
    }
  }
  CallForms::note(path(), "at once: " + why);
  const HeadGroups heads = head_groups(q, keys);
  const Tensor own = logits(q, heads, seen);
  add_summary("max_logit", reduce_max(own, all_axes(own)));
  Tensor probs = weights(own, heads, keys.v_BSKH.dtype());
  if (dropout_) probs = (*dropout_)(probs);
  return without_unseen(heads.weighted(probs), keys, visibility);
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

ScoredCore::Form ScoredCore::form(const Tensor& q_BTNH, int64_t num_keys,
                                  const Visibility& visibility) const {
  if (!blocks_.from) return {.why = "core.blocks.from is none"};
  if (CallForms::only_plain()) return {.why = "only plain forms are computed"};
  const int64_t num_queries = q_BTNH.dim(1);
  const auto squared = [](int64_t x) { return static_cast<double>(x) * static_cast<double>(x); };
  const double pairs_of_tokens = static_cast<double>(num_queries) * static_cast<double>(num_keys);
  const std::string size = fmt::format("{} queries and {} keys", num_queries, num_keys);
  if (pairs_of_tokens < squared(*blocks_.from)) {
    return {.why = fmt::format("{}, fewer pairs than of {} each (core.blocks.from)", size,
                               int64_t{*blocks_.from})};
  }
  const int64_t num_shares = num_query_shares(num_queries);
  if (std::string why = why_at_once(num_shares, visibility); !why.empty())
    return {.why = std::move(why)};
  BlockPlan plan = this->plan(num_queries, num_keys, num_shares, visibility);
  const int64_t num_all = plan.num_query_blocks * plan.num_key_blocks;
  std::string why = fmt::format("{}, {} of {} pairs of blocks of {} and {} to compute", size,
                                plan.num_steps(), num_all, plan.query_size, plan.key_size);
  if (num_shares > 1) why += fmt::format(" on each of the {} devices of a row", num_shares);
  if (needs_all_places(visibility)) why += "; the bias is computed for all at once";
  const double cost = block_cost() * (Layer::is_training() ? kBlockCost : 1) *
                      static_cast<double>(plan.num_steps()) / static_cast<double>(num_all);
  if (cost <= 1) return {.plan = std::move(plan), .why = std::move(why)};
  const double num_scores = scores_of_device(q_BTNH, num_keys);
  why += fmt::format("; they cost {:.3g} times a call at once, of which a device has {:.0f} scores",
                     cost, num_scores);
  const bool are_many = num_scores > kMaxScores,
             is_long = pairs_of_tokens >= kAlwaysFrom * squared(*blocks_.from);
  if (!are_many && !is_long) return {.why = std::move(why)};
  why += are_many ? fmt::format(", more than {:.0f}", kMaxScores)
                  : fmt::format(", in rows {:.0f} times as long as blocks.from or longer",
                                std::sqrt(kAlwaysFrom));
  return {.plan = std::move(plan), .why = std::move(why)};
}

std::string ScoredCore::why_at_once(int64_t num_shares, const Visibility& visibility) const {
  if (kind_of_weights() == Weights::kAnything)
    return "a weight may depend on all logits of its query";
  if (dropout_ && (*dropout_)->drops()) {
    if (!random::draws_parts(Invocation::current().options().key))
      return "the generator of the keys of dropout draws no parts";
    if (!(*dropout_)->can_drop_parts()) return "dropout has statistics of all weights";
  }
  const bool has_whole =
      needs_all_places(visibility) || visibility.given_bias || visibility.given_visible;
  if (num_shares > 1 && has_whole)
    return "devices share the queries of a bias or mask that is given for all";
  return {};
}

BlockPlan ScoredCore::plan(int64_t num_queries, int64_t num_keys, int64_t num_shares,
                           const Visibility& visibility) const {
  const auto of_size = [&](int64_t queries, int64_t keys) {
    return plan_blocks(num_queries, num_keys, queries, keys, num_shares, visibility);
  };
  const auto has_too_many_pairs = [](const BlockPlan& plan) {
    return plan.num_steps() * plan.num_shares > kMaxPairs;
  };
  int64_t queries = std::min<int64_t>(blocks_.queries, num_queries),
          keys = std::min<int64_t>(blocks_.keys, num_keys);
  BlockPlan out = of_size(queries, keys);
  while (has_too_many_pairs(out)) out = of_size(queries *= 2, keys *= 2);
  while (std::min(queries, keys) >= 2 * kLeastBlock) {
    BlockPlan finer = of_size(queries /= 2, keys /= 2);
    if (has_too_many_pairs(finer) || finer.num_scores() > kFinerPays * out.num_scores()) break;
    out = std::move(finer);
  }
  return out;
}

Tensor ScoredCore::by_blocks(const BlockPlan& plan, const Tensor& q_BTNH, const KeyValues& keys,
                             const Visibility& visibility) {
  Visibility whole = visibility;
  if (whole.bias) {
    whole.bias_of_block = (*whole.bias)->of_blocks(whole.positions, q_BTNH.dim(0));
    whole.bias = nullptr;
  }
  if (whole.has_empty_places) whole.last_of_row = visibility.last_position();
  Invocation& outer = Invocation::current();
  const InvocationOptions options = outer.nested_options();
  // Losses, statistics and random numbers of blocks would differ from the row's.
  const auto check = [](Invocation& inner) {
    if (!tensors_of(inner.collection()).empty())
      throw NeedsWholeRows{"a layer inside of the core has losses, statistics or values to keep"};
  };
  const auto scores = [&](const Tensor& q, const Tensor& k, const Visibility& seen) {
    InvocationOptions of_block = options;
    // A value of this block, so that its uses can be seen.
    if (options.key) of_block.key = random::fold_in(options.key, 0);
    Invocation inner(outer.path(), outer.parameters(), of_block);
    const HeadGroups heads = head_groups(q, {.k_BSKH = k});
    const Tensor own = logits(q, heads, seen);
    Values out{own};
    if (kind_of_weights() == Weights::kEachKey) {
      out = {weights(own, heads, DType::kF32), stop_gradient(reduce_max(own, all_axes(own)))};
    }
    check(inner);
    if (of_block.key && depend_on(out, of_block.key.data()))
      throw NeedsWholeRows{"a layer inside of the core draws random numbers"};
    return out;
  };
  BlockScores of_blocks{
      .of_block = scores, .are_logits = kind_of_weights() == Weights::kSoftmax, .sink_N = sink()};
  if (dropout_ && (*dropout_)->drops()) {
    of_blocks.dropped = [&](const Tensor& weights, const Tensor& query_begin,
                            const Tensor& key_begin) {
      Invocation inner(outer.path(), outer.parameters(), options);
      Shape all = weights.shape();  // [B, .., T, .., S], as HeadGroups says
      all[2] = q_BTNH.dim(1);
      all.back() = keys.k_BSKH.dim(1);
      Values begin(all.size(), scalar(0, DType::kI32));
      begin[2] = query_begin;
      begin.back() = key_begin;
      const Tensor kept = (*dropout_)->of_parts(all)(weights, begin);
      check(inner);
      return kept;
    };
  }
  const BlockwiseResult result = attend_by_blocks(of_blocks, plan, q_BTNH, keys, whole);
  add_summary("max_logit", result.max_logit);
  return result.y_BTNH;
}

AXLE_REGISTER(AttentionBlocks)

SoftmaxAttention::SoftmaxAttention(const Config& cfg, const Dims& dims, const Scope& scope)
    : ScoredCore(cfg, dims, scope) {
  if (cfg.sink) {
    sink_ = param("sink", {.shape = {dims.num_heads}, .mesh_axes = {kShardAxes}, .init = Zeros{}});
  }
}

Tensor SoftmaxAttention::weights(const Tensor& logits, const HeadGroups& heads, DType result) {
  if (!sink_) return softmax(logits, -1, result);
  const Tensor own = heads.aligned(expand_dims(expand_dims(*sink(), -1), -1), true);
  const Tensor largest = stop_gradient(maximum(reduce_max(logits, {-1}, true), own));
  const Tensor unnormalised = exp(logits - largest);
  const Tensor total = reduce_sum(unnormalised, {-1}, true) + exp(own - largest);
  return astype(unnormalised / total, result);
}

std::optional<Tensor> SoftmaxAttention::sink() {
  return sink_ ? std::optional(astype((*sink_)(), DType::kF32)) : std::nullopt;
}

AXLE_REGISTER(SoftmaxAttention)

Tensor SigmoidAttention::weights(const Tensor& logits, const HeadGroups&, DType result) {
  const Tensor shifted = bias_len_ ? logits - std::log(static_cast<double>(*bias_len_)) : logits;
  return astype(sigmoid(shifted), result);
}

AXLE_REGISTER(SigmoidAttention)

}  // namespace axle
