#include "layers/models/token_losses.h"

#include <fmt/format.h>

#include <functional>
#include <utility>

#include "config/walk.h"
#include "layers/mesh_axes.h"
#include "nn/layer_role.h"
#include "nn/method.h"
#include "nn/tensor_tree.h"
#include "ops/annotate.h"
#include "ops/elementwise/elementwise.h"
#include "ops/random/random.h"
#include "ops/reductions/reductions.h"

namespace axle {
namespace {

// The head does what is one thing for all positions.
struct NeedsAllPositions {
  const char* why;
};

// Returns the parameters of the call. The head's are collected from the devices here, once,
// and not in each pass of a loop.
Tree<Tensor> with_whole_head(const Decoder& decoder, const Invocation& call) {
  Tree<Tensor> out = call.parameters();
  for (const auto& [path, spec] : decoder.head_param_specs()) {
    const PartitionSpec shards = restrict(spec.partition(), call.options().mesh);
    const PartitionSpec whole = without_model_dim_axes(shards);
    const auto at = out.find(path);
    if (at != out.end() && whole != shards) at->second = sharding_constraint(at->second, whole);
  }
  return out;
}

// Returns what `compute` makes of the head and of the segment ids of the rows. What layers of the
// head report of each chunk is stacked.
template <class Compute>
auto by_chunks(Decoder& decoder, const Compute& compute) {
  Invocation& outer = Invocation::current();
  InvocationOptions options = outer.nested_options();
  const std::optional<Tensor> ids_BT = std::exchange(options.segment_ids, std::nullopt);
  options.in_loop = true;
  OutputCollection collected;
  const Tree<Tensor> parameters = with_whole_head(decoder, outer);
  const auto head = [&](const Tensor& x_BtD, const std::optional<Tensor>& ids_Bt) {
    InvocationOptions of_chunk = options;
    of_chunk.segment_ids = ids_Bt;
    // A value of this chunk, so that its uses can be seen.
    if (options.key) of_chunk.key = random::fold_in(options.key, 0);
    Invocation inner(outer.path(), parameters, of_chunk);
    Values results = {decoder.logits_of(x_BtD)};
    collected = std::move(inner.collection());
    if (!collected.aux_losses.empty()) throw NeedsAllPositions{"the head adds a loss of its own"};
    for (const Tensor& value : tensors_of(collected)) results.push_back(value);
    if (of_chunk.key && depend_on(results, of_chunk.key.data()))
      throw NeedsAllPositions{"the head draws random numbers"};
    return results;
  };
  auto out = compute(head, ids_BT);
  auto kept = out.kept.cbegin();
  replace_tensors(collected, kept);
  outer.merge(std::move(collected));
  return out;
}

void note(const Decoder& decoder, const std::string& form) {
  CallForms::note(decoder.path(), "the loss " + form);
}

// Notes that the loss is computed at once; throws ConfigError if the config asks for chunks.
void give_up(const Decoder& decoder, const LossChunks& chunks, std::string_view why) {
  if (!chunks.asked_by.empty()) {
    throw ConfigError(
        fmt::format("{}: expected no length that divides the rows, since {}; leave it out",
                    chunks.asked_by, why));
  }
  note(decoder, fmt::format("at once: {}", why));
}

// Returns the result of by_chunks(); nothing if there are no chunks, or if the head needs all
// positions at once.
template <class Compute>
auto by_chunks_if_possible(Decoder& decoder, const std::optional<LossChunks>& chunks,
                           const Compute& compute) {
  std::optional<decltype(by_chunks(decoder, compute))> out;
  if (!chunks) return out;
  try {
    out = by_chunks(decoder, compute);
  } catch (const NeedsAllPositions& head) {
    give_up(decoder, *chunks, head.why);
  }
  return out;
}

}  // namespace

std::optional<LossChunks> chunks_of_losses(const Model& model, const Decoder& decoder,
                                           const Shape& bt, std::optional<int64_t> chunk_len) {
  if (CallForms::only_plain() || bt.size() != 2) return std::nullopt;  // the decoder reports others
  const Shape btv = {bt[0], bt[1], decoder.vocab_size()};
  const Mesh& mesh = Invocation::current().options().mesh;
  std::optional<LossChunks> chunks;
  if (!chunk_len)
    chunks = fitting_loss_chunks(btv, mesh);
  else if (*chunk_len < bt[1])
    chunks = loss_chunks_of_len(*chunk_len, btv, mesh,
                                join_config_path(model.config_path(), "loss_chunk_len"));
  const std::string all = fmt::format("of {} x {} x {} logits", btv[0], btv[1], btv[2]);
  if (!chunks) {
    note(decoder, fmt::format("at once: {}, {} on a device", all, logits_of_device(btv, mesh)));
    return std::nullopt;
  }
  if (const std::string why = decoder.why_whole(); !why.empty()) {
    give_up(decoder, *chunks, why);
    return std::nullopt;
  }
  note(decoder, fmt::format("by {} chunks: {}, {} on a device at a time", chunks->num_chunks, all,
                            chunks->num_logits));
  return chunks;
}

LossSums head_loss_sums(Decoder& decoder, const Tensor& x_BTD, const Tensor& labels_BT,
                        const std::optional<LossChunks>& chunks, const TokenLoss* further) {
  const auto of_chunks = [&](const ChunkHead& head, const std::optional<Tensor>& ids_BT) {
    return chunked_loss_sums(head, x_BTD, ids_BT, labels_BT, *chunks, further);
  };
  if (const auto chunked = by_chunks_if_possible(decoder, chunks, of_chunks)) return chunked->sums;
  return loss_sums(decoder.logits_of(x_BTD), labels_BT, further);
}

Tensor cross_entropy_of_labels(const Model& model, Decoder& decoder, const Tensor& ids_BT,
                               const MixerContext& context, const Tensor& labels_BT,
                               std::optional<int64_t> chunk_len) {
  const auto chunks = chunks_of_losses(model, decoder, ids_BT.shape(), chunk_len);
  if (!chunks) return softmax_cross_entropy(decoder(ids_BT, context), labels_BT).loss;
  const Tensor x_BTD = decoder.hidden(ids_BT, context);
  const auto of_chunks = [&](const ChunkHead& head, const std::optional<Tensor>& segments_BT) {
    return chunked_cross_entropy(head, x_BTD, segments_BT, labels_BT, *chunks);
  };
  if (const auto chunked = by_chunks_if_possible(decoder, chunks, of_chunks))
    return chunked->losses_BT;
  return softmax_cross_entropy(decoder.logits_of(x_BTD), labels_BT).loss;
}

Tensor num_targets_of(const Tensor& labels_BT, const LossSums& sums) {
  return sum(astype(labels_BT >= 0, sums.cross_entropy.dtype()));
}

ModelOutput mean_losses(const LossSums& sums, const Tensor& num_targets, double z_loss_scale,
                        const TokenLoss* further) {
  const Tensor divisor = maximum(num_targets, 1);
  ModelOutput out{.loss = sums.cross_entropy / divisor};
  out.metrics.emplace("cross_entropy", out.loss);
  out.metrics.emplace("accuracy", sums.hits / divisor);
  out.metrics.emplace(kNumTargets, num_targets);
  if (further) {
    const Tensor mean = sums.further / divisor;
    out.metrics.emplace(further->name, mean);
    out.loss = out.loss * further->cross_entropy_weight + mean * further->weight;
  }
  if (z_loss_scale != 0) add_loss(out, "z_loss", z_loss_scale * (sums.squared_log_z / divisor));
  return out;
}

void add_loss(ModelOutput& out, std::string_view name, const Tensor& loss) {
  out.metrics.emplace(name, loss);
  out.loss = out.loss + loss;
}

void take_aux_losses(ModelOutput& out) {
  Tree<Tensor> aux_losses = std::exchange(Invocation::current().collection().aux_losses, {});
  if (aux_losses.empty()) return;
  const auto add = [](Tensor& to, const Tensor& term) { to = to ? to + term : term; };
  Tensor total;
  Tree<Tensor> by_name;
  for (const auto& [path, value] : aux_losses) {
    const Tensor term = astype(sum(value), out.loss.dtype());
    add(total, term);
    add(by_name["aux_loss/" + path.substr(path.rfind('/') + 1)], term);
  }
  add_loss(out, "aux_loss", total);
  out.metrics.merge(std::move(by_name));
}

}  // namespace axle
