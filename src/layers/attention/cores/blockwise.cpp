#include "layers/attention/cores/blockwise.h"

#include <algorithm>
#include <functional>

#include "base/lists.h"
#include "layers/mesh_axes.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/vmap.h"

namespace axle {
namespace {

Tensor sums_over_keys(const Tensor& x) { return reduce_sum(x, {-1}, /*keep_dims=*/true); }

// Sums have their queries in dim 2 (HeadGroups). Returns them by blocks, in a leading dim.
Tensor in_blocks(const Tensor& sums, int64_t num_blocks) {
  return move_axis(unflatten(sums, 2, {num_blocks, -1}), 2, 0);
}
Tensor joined(const Tensor& blocks) { return flatten(move_axis(blocks, 0, 2), 2, 3); }

Tensor with_added(const Tensor& blocks, const Tensor& x, const Tensor& index) {
  return dynamic_update_index_in_dim(blocks, dynamic_index_in_dim(blocks, index) + x, index);
}

// Said in the loops, too: a row that devices share would be collected for each of its blocks.
Tensor whole_rows(const Tensor& x_BSKH) { return sharding_constraint(x_BSKH, kWholeSequenceAxes); }

// Compilers may leave out a conversion to bf16 and back, but not this.
Tensor rounded(const Tensor& x, DType dtype) {
  return dtype == DType::kBF16 ? reduce_precision(x, 8, 7) : x;
}

// [.., T, S], or what broadcasts to it.
Tensor bias_in_whole_blocks(const Tensor& bias, const Shape& size_TS, const BlockPlan& plan) {
  Shape whole = bias.shape();
  std::ranges::copy(size_TS, whole.end() - 2);
  const Tensor of_queries =
      in_whole_blocks(broadcast_to(bias, whole), bias.rank() - 2, plan.query_size);
  return in_whole_blocks(of_queries, bias.rank() - 1, plan.key_size);
}

// The members of the pairs of each step, i32[steps, shares].
Values tables_of(const BlockPlan& plan) {
  const auto num_shares = static_cast<size_t>(plan.num_shares);
  Values out;
  for (const auto member :
       {&BlockPair::query_block, &BlockPair::key_block, &BlockPair::query_begin}) {
    HostTensor table(Type{DType::kI32, {plan.num_steps(), plan.num_shares}});
    for (size_t share = 0; share < num_shares; ++share) {
      for (size_t step = 0; step < plan.pairs[share].size(); ++step)
        table.values<int32_t>()[step * num_shares + share] = plan.pairs[share][step].*member;
    }
    out.push_back(constant(table));
  }
  return out;
}

// A function that was traced for a block. What it captured are arguments of the loops, from number
// `first_captured` on.
struct BlockFunction {
  BlockFunction(const ClosedRegion& traced, Values& arguments)
      : region(traced.region),
        first_captured(static_cast<std::ptrdiff_t>(arguments.size())),
        num_captured(static_cast<std::ptrdiff_t>(traced.captures.size())) {
    arguments.insert(arguments.end(), traced.captures.begin(), traced.captures.end());
  }
  Values with_captured(const Values& arguments, const Values& own) const {
    const auto first = arguments.begin() + first_captured;
    Values out(first, first + num_captured);
    out.insert(out.end(), own.begin(), own.end());
    return out;
  }
  TensorFunction function() const {
    return [block = region](const Values& x) { return inline_region(*block, x); };
  }

  std::shared_ptr<const Region> region;
  std::ptrdiff_t first_captured, num_captured;
};

// The loops of the forward and the backward pass over the pairs of a plan.
class Blockwise {
 public:
  // Where the arguments stand that there may be.
  struct OptionalArguments {
    std::optional<size_t> sink = {}, bias = {};
  };
  Blockwise(const BlockScores& scores, BlockPlan plan, OptionalArguments optional,
            BlockFunction block, std::optional<BlockFunction> dropped)
      : plan_(std::move(plan)),
        are_logits_(scores.are_logits),
        optional_(optional),
        block_(std::move(block)),
        dropped_(std::move(dropped)) {}

  // Arguments: the queries of a share, k and v in whole blocks, the number of the share, the logit
  // of the sink and a bias in whole blocks if there are, and what the functions of a block
  // captured. Outputs: y_BTNV and the largest logit.
  WithResiduals forward(const Values& arguments) const;
  // Residuals: the arguments; for logits, the largest one of each query and the logarithm of the
  // sum of exponentials beside it, by block; y, and what its rounding took from it.
  Values backward(const Values& residuals, const Values& cotangents) const;

 private:
  struct Pair {
    Tensor i, j;                    // i32 scalars: the numbers of the blocks
    Tensor query_begin, key_begin;  // i32 scalars: their indices in the row
    Tensor q, k;
    HeadGroups heads;
  };
  Pair pair(const Values& arguments, const Values& numbers) const {
    const auto of_share = [&](size_t n) {
      return plan_.num_shares == 1 ? reshape(numbers[n], {})
                                   : dynamic_index_in_dim(numbers[n], arguments[3]);
    };
    const Tensor i = of_share(0), j = of_share(1);
    const Tensor at_i = i * static_cast<double>(plan_.query_size),
                 at_j = j * static_cast<double>(plan_.key_size);
    const Tensor q = dynamic_slice_in_dim(arguments[0], at_i, plan_.query_size, 1),
                 k = dynamic_slice_in_dim(whole_rows(arguments[1]), at_j, plan_.key_size, 1),
                 v = dynamic_slice_in_dim(whole_rows(arguments[2]), at_j, plan_.key_size, 1);
    return {i, j, of_share(2), at_j, q, k, HeadGroups::of_copies(q, {.k_BSKH = k, .v_BSKH = v})};
  }
  // The scores as a function of what was captured, the queries and the keys.
  Values score_arguments(const Values& arguments, const Pair& p) const {
    Values own{p.q, p.k, p.query_begin, p.key_begin};
    if (optional_.bias) own.push_back(bias_block(arguments[*optional_.bias], p));
    return block_.with_captured(arguments, own);
  }
  // A bias and its gradient have queries and keys in their last two dims.
  static Values bias_begin(const Tensor& bias, const Pair& p) {
    Values begin(bias.shape().size(), scalar(0, DType::kI32));
    std::ranges::copy(Values{p.query_begin, p.key_begin}, begin.end() - 2);
    return begin;
  }
  Tensor bias_block(const Tensor& bias, const Pair& p) const {
    Shape sizes = bias.shape();
    std::ranges::copy(Shape{plan_.query_size, plan_.key_size}, sizes.end() - 2);
    return dynamic_slice(bias, bias_begin(bias, p), sizes);
  }
  // Weights, or gradients of weights, without the ones of dropped keys.
  Tensor kept(const Tensor& weights, const Values& arguments, const Pair& p) const {
    if (!dropped_) return weights;
    const Values own{weights, p.query_begin, p.key_begin};
    return dropped_->function()(dropped_->with_captured(arguments, own))[0];
  }
  ScanResult over_pairs(const std::function<Values(const Values& carry, const Pair&)>& body,
                        const Values& arguments, const Values& init) const {
    const auto step = [&](const Values& carry, const Values& numbers) {
      return ScanResult{.carry = body(carry, pair(arguments, numbers)), .ys = {}};
    };
    // Scores that a remat policy keeps would be the scores of all pairs.
    return scan(step, init, tables_of(plan_), plan_.num_steps(), {.may_keep_values = false});
  }
  // True if y, of this dtype, is too coarse for what the weights of a query lose.
  bool keeps_rest(DType dtype) const { return are_logits_ && dtype == DType::kBF16; }
  // The sink's logit for each query, with the dims of sums and 1 for V.
  Tensor sink_of(const Values& arguments, const HeadGroups& heads) const {
    const Tensor sink = astype(arguments[*optional_.sink], DType::kF32);
    return heads.aligned(expand_dims(expand_dims(sink, -1), -1), true);
  }

  BlockPlan plan_;
  bool are_logits_;
  OptionalArguments optional_;
  BlockFunction block_;
  std::optional<BlockFunction> dropped_;
};

WithResiduals Blockwise::forward(const Values& arguments) const {
  const HeadGroups whole =
      HeadGroups::of_copies(arguments[0], {.k_BSKH = arguments[1], .v_BSKH = arguments[2]});
  const Tensor &q = arguments[0], &v = arguments[2];
  const int64_t num_blocks = plan_.num_query_blocks;
  const Tensor zero =
      in_blocks(whole.as_sums(zeros({q.dim(0), q.dim(1), q.dim(2), v.dim(3)})), num_blocks);
  const Tensor zero_1 = slice_in_dim(zero, -1, 0, 1);
  Tensor largest = full_like(zero_1, kLeastLogit), total = zero_1;
  if (optional_.sink) {
    largest = largest * 0 + sink_of(arguments, whole);
    total = total + 1;
  }
  Values init{zero, full({}, kHiddenLogit)};
  if (are_logits_) init.insert(init.end(), {largest, total});
  const auto body = [&](const Values& carry, const Pair& p) {
    const Values scores = block_.function()(score_arguments(arguments, p));
    const Tensor& s = scores[0];
    const Tensor sums = dynamic_index_in_dim(carry[0], p.i);
    // The softmax of the block alone, which compilers know; then what it weighs beside the others.
    const Tensor own_max = are_logits_ ? reduce_max(s, {-1}, true) : scores[1];
    const Tensor max_logit = maximum(carry[1], reduce_max(own_max, all_axes(own_max)));
    const auto updated = [&](size_t c, const Tensor& x) {
      return dynamic_update_index_in_dim(carry[c], x, p.i);
    };
    const auto with_values = [&](const Tensor& weights) {
      return p.heads.block_sums(astype(kept(weights, arguments, p), v.dtype()));
    };
    if (!are_logits_) return Values{updated(0, sums + with_values(s)), max_logit};
    const Tensor before = dynamic_index_in_dim(carry[2], p.i);
    const Tensor now = maximum(before, own_max);
    // All keys of the block may have the bias -inf: their exponentials are zeros then, not NaN.
    const Tensor finite_max = maximum(own_max, kLeastLogit);
    const Tensor weights = exp(s - finite_max), shrink = exp(before - now),
                 part = exp(finite_max - now);
    const Tensor totals =
        dynamic_index_in_dim(carry[3], p.i) * shrink + sums_over_keys(weights) * part;
    return Values{updated(0, sums * shrink + with_values(weights) * part), max_logit,
                  updated(2, now), updated(3, totals)};
  };
  const Values last = over_pairs(body, arguments, init).carry;
  Tensor sums = last[0];
  WithResiduals out;
  if (are_logits_) {
    const Tensor sum = select(last[3] > 0, last[3], 1);
    sums = sums / sum;
    for (const Tensor& part : {last[2], log(sum)})
      out.residuals.push_back(name(part, "attention_log_sum"));
  }
  const Tensor exact = whole.from_sums(joined(sums));
  const auto kept_result = [&](const Tensor& x) {
    return name(astype(x, v.dtype()), "attention_blocks");
  };
  const Tensor y = kept_result(rounded(exact, v.dtype()));
  out.outputs = {y, last[1]};
  out.residuals.insert(out.residuals.begin(), arguments.begin(), arguments.end());
  out.residuals.push_back(y);
  if (keeps_rest(v.dtype())) out.residuals.push_back(kept_result(exact - astype(y, exact.dtype())));
  return out;
}

Values Blockwise::backward(const Values& residuals, const Values& cotangents) const {
  const bool has_rest = keeps_rest(residuals[2].dtype());
  const size_t num_sums = are_logits_ ? 2 : 0;
  const size_t num_arguments = residuals.size() - num_sums - 1 - (has_rest ? 1 : 0);
  const Values arguments(residuals.begin(), residuals.begin() + num_arguments);
  const Tensor &v = arguments[2], &dy = cotangents[0];
  Tensor y = astype(residuals[num_arguments + num_sums], DType::kF32);
  if (has_rest) y = y + astype(residuals.back(), DType::kF32);
  const HeadGroups whole =
      HeadGroups::of_copies(arguments[0], {.k_BSKH = arguments[1], .v_BSKH = v});
  const int64_t num_blocks = plan_.num_query_blocks;
  const Tensor gradients = in_blocks(whole.as_sums(dy), num_blocks);
  // What all weights of a query lose, since they sum to one: the sum of its gradients by weight.
  const Tensor product = astype(dy, DType::kF32) * y;
  const Tensor lost = in_blocks(whole.as_sums(reduce_sum(product, {-1}, true)), num_blocks);

  // Of logits of these queries. One sum of both parts would round large logits away.
  const auto weights_of = [&](const Tensor& logits, const auto& part_of) {
    return exp(logits - part_of(residuals[num_arguments]) - part_of(residuals[num_arguments + 1]));
  };

  // The carry: gradients of q by block, of k and v by block, of the bias, and of each captured
  // float.
  const auto zero_blocks = [](const Tensor& x, int64_t count) {
    return move_axis(unflatten(zeros(x.shape()), 1, {count, -1}), 1, 0);
  };
  Values init{zero_blocks(arguments[0], num_blocks),
              zero_blocks(arguments[1], plan_.num_key_blocks),
              zero_blocks(v, plan_.num_key_blocks)};
  const auto first = static_cast<size_t>(block_.first_captured),
             num_captured = static_cast<size_t>(block_.num_captured);
  if (optional_.bias) init.push_back(zeros(arguments[*optional_.bias].shape()));
  const size_t first_trained = init.size();
  std::vector<size_t> trained;
  for (size_t c = 0; c < num_captured; ++c) {
    const Tensor& captured = arguments[first + c];
    if (!is_float(captured.dtype())) continue;
    trained.push_back(c);
    init.push_back(zeros(captured.shape()));
  }
  const auto body = [&](const Values& carry, const Pair& p) {
    const Linearized found = vjp(block_.function(), score_arguments(arguments, p));
    const Tensor& s = found.outputs[0];
    const Tensor of_sums = dynamic_index_in_dim(gradients, p.i);
    const Tensor of_weights = kept(p.heads.weight_gradient(of_sums), arguments, p);
    Tensor weights = s, of_scores = of_weights;
    if (are_logits_) {
      weights = weights_of(s, [&](const Tensor& x) { return dynamic_index_in_dim(x, p.i); });
      of_scores = weights * (of_weights - dynamic_index_in_dim(lost, p.i));
    }
    Values cotangents_of_block{of_scores};
    if (!are_logits_) cotangents_of_block.push_back(zeros({}));  // of the largest logit
    const Values of_arguments = found.pullback(cotangents_of_block);
    const auto or_zeros = [](const Tensor& gradient, const Tensor& like) {
      return gradient ? astype(gradient, DType::kF32) : zeros(like.shape());
    };
    Values out{
        with_added(carry[0], or_zeros(of_arguments[num_captured], p.q), p.i),
        with_added(carry[1], or_zeros(of_arguments[num_captured + 1], p.k), p.j),
        with_added(carry[2],
                   p.heads.value_gradient(astype(kept(weights, arguments, p), v.dtype()), of_sums),
                   p.j)};
    if (optional_.bias) {
      const Tensor block = bias_block(carry[3], p);
      out.push_back(dynamic_update_slice(carry[3],
                                         block + or_zeros(of_arguments[num_captured + 4], block),
                                         bias_begin(carry[3], p)));
    }
    for (size_t t = 0; t < trained.size(); ++t) {
      const Tensor &gradient = of_arguments[trained[t]], &before = carry[first_trained + t];
      out.push_back(gradient ? before + astype(gradient, DType::kF32) : before);
    }
    return out;
  };
  const Values last = over_pairs(body, arguments, init).carry;
  Values out(num_arguments);
  for (size_t a = 0; a < 3; ++a)
    out[a] = astype(flatten(move_axis(last[a], 0, 1), 1, 2), arguments[a].dtype());
  if (optional_.sink) {
    const Tensor weight = weights_of(sink_of(arguments, whole), std::identity());
    const Tensor of_sink = whole.from_sums(joined(-weight * lost));
    out[*optional_.sink] =
        astype(reduce_sum(of_sink, {0, 1, 3}), arguments[*optional_.sink].dtype());
  }
  if (optional_.bias) out[*optional_.bias] = astype(last[3], arguments[*optional_.bias].dtype());
  for (size_t t = 0; t < trained.size(); ++t) {
    const size_t a = first + trained[t];
    out[a] = astype(last[first_trained + t], arguments[a].dtype());
  }
  return out;
}

}  // namespace

BlockwiseResult attend_by_blocks(const BlockScores& scores, const BlockPlan& plan,
                                 const Tensor& q_BTNH, const KeyValues& keys,
                                 const Visibility& visibility) {
  const int64_t num_keys = keys.k_BSKH.dim(1);
  const KeyValues copied = HeadGroups::with_copies(keys, q_BTNH.dim(2));
  const Tensor k = in_whole_blocks(copied.k_BSKH, 1, plan.key_size),
               v = in_whole_blocks(copied.v_BSKH, 1, plan.key_size);
  // Returns y, [B, T, N, V], and the largest logit of the queries of a share.
  const auto of_share = [&](const Values& given) {
    const Tensor q = in_whole_blocks(given[0], 1, plan.query_size);
    const auto block_type = [](const Tensor& x, int64_t size) {
      Type type = x.type();
      type.dims[1] = size;
      return type;
    };
    const Type scalar{DType::kI32, {}};
    Values arguments{q, k, v, given[1]};
    std::vector<Type> types{block_type(q, plan.query_size), block_type(k, plan.key_size), scalar,
                            scalar};
    Blockwise::OptionalArguments optional;
    if (scores.sink_N) {
      optional.sink = arguments.size();
      arguments.push_back(*scores.sink_N);
    }
    if (visibility.given_bias) {
      optional.bias = arguments.size();
      arguments.push_back(
          bias_in_whole_blocks(*visibility.given_bias, {given[0].dim(1), num_keys}, plan));
      types.push_back(arguments.back().type());
      std::ranges::copy(Shape{plan.query_size, plan.key_size}, types.back().dims.end() - 2);
    }
    const ClosedRegion block = trace_closed(
        [&](const Values& x) {
          Visibility seen =
              visibility.of_block(x[2], plan.query_size, x[3], plan.key_size, num_keys);
          if (optional.bias) seen.given_bias = x[4];
          return scores.of_block(x[0], x[1], seen);
        },
        types);
    BlockFunction of_block(block, arguments);
    std::optional<BlockFunction> dropped;
    if (scores.dropped) {
      const auto traced = [&](const Values& x) { return Values{scores.dropped(x[0], x[1], x[2])}; };
      const Type& weights = block.region->results()[0].type();
      dropped.emplace(trace_closed(traced, {weights, scalar, scalar}), arguments);
    }
    const auto loops = std::make_shared<const Blockwise>(scores, plan, optional,
                                                         std::move(of_block), std::move(dropped));
    const Values results =
        custom_vjp({.name = "attention_by_blocks",
                    .forward = [loops](const Values& x) { return loops->forward(x); },
                    .backward =
                        [loops](const Values& saved, const Values& cotangents) {
                          return loops->backward(saved, cotangents);
                        }},
                   arguments);
    return Values{slice_in_dim(results[0], 1, 0, given[0].dim(1)), stop_gradient(results[1])};
  };
  if (plan.num_shares == 1) {
    const Values y = of_share({q_BTNH, scalar(0, DType::kI32)});
    return {y[0], y[1]};
  }
  const auto laid_out = [&](const Tensor& x_PBT) {
    return sharding_constraint(x_PBT, {{kSequenceAxes, kBatchAxes, kReplicated, kShardAxes}});
  };
  const Tensor share = iota({plan.num_shares}, 0);
  const Values y =
      vmap(of_share, {laid_out(in_shares(q_BTNH, plan)), share}, {.mesh_axes = kSequenceAxes});
  return {sharding_constraint(from_shares(laid_out(y[0]), plan), kTokenPartsAxes),
          reduce_max(y[1], {0})};
}

}  // namespace axle
