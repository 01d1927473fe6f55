#include "layers/models/causal_lm.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/reductions/reduce.h"

namespace axle {
namespace {

std::optional<Tensor> find(const Tree<Tensor>& batch, const std::string& key) {
  const auto it = batch.find(key);
  return it == batch.end() ? std::nullopt : std::optional(it->second);
}

MixerContext context_of(const Tree<Tensor>& batch) {
  return {.positions = find(batch, "input_positions"),
          .segment_ids = find(batch, "input_segment_ids"),
          .last_index = find(batch, "last_index"),
          .prefix_lengths = find(batch, "prefix_lengths")};
}

}  // namespace

CausalLM::CausalLM(const Config& cfg, const Dims&, const Scope& scope)
    : Model(scope),
      z_loss_scale_(cfg.z_loss_scale),
      loss_chunk_len_(cfg.loss_chunk_len),
      decoder_(child("decoder", cfg.decoder, {})) {}

Tensor CausalLM::required(const Tree<Tensor>& batch, const std::string& key) const {
  const auto found = find(batch, key);
  if (!found)
    throw ConfigError(fmt::format("{}: the batch must hold {}, got none",
                                  path().empty() ? "the model" : path(), key));
  return *found;
}

LossSums CausalLM::sums(const Tensor& ids_BT, const Tensor& labels_BT,
                        const MixerContext& context) {
  if (!loss_chunk_len_) return loss_sums(decoder_(ids_BT, context), labels_BT);
  const Tensor x_BTD = decoder_->hidden(ids_BT, context);
  const Invocation& outer = Invocation::current();
  return chunked_loss_sums(
      [&](const Tensor& x_BtD) {
        const Invocation in_chunk(outer.path(), outer.parameters(),
                                  {.training = outer.options().training, .in_loop = true});
        return decoder_->logits_of(x_BtD);
      },
      x_BTD, labels_BT, *loss_chunk_len_);
}

ModelOutput CausalLM::forward(const Tree<Tensor>& batch) {
  const Tensor labels_BT = required(batch, "target_labels");
  const LossSums all = sums(required(batch, "input_ids"), labels_BT, context_of(batch));
  const Tensor num_targets = sum(astype(labels_BT >= 0, all.cross_entropy.dtype()));
  const Tensor divisor = maximum(num_targets, 1);

  ModelOutput out{.loss = all.cross_entropy / divisor};
  out.metrics.emplace("cross_entropy", out.loss);
  out.metrics.emplace(kNumTargets, num_targets);
  if (z_loss_scale_ != 0) {
    const Tensor z_loss = z_loss_scale_ * (all.squared_log_z / divisor);
    out.metrics.emplace("z_loss", z_loss);
    out.loss = out.loss + z_loss;
  }
  Tree<Tensor> aux_losses = std::exchange(Invocation::current().collection().aux_losses, {});
  if (!aux_losses.empty()) {
    Tensor total;
    for (const auto& [path, value] : aux_losses) {
      const Tensor term = astype(sum(value), out.loss.dtype());
      total = total ? total + term : term;
    }
    out.metrics.emplace("aux_loss", total);
    out.loss = out.loss + total;
  }
  return out;
}

Tensor CausalLM::logits_forward(const Tree<Tensor>& batch) {
  return decoder_(required(batch, "input_ids"), context_of(batch));
}

Tensor CausalLM::next_logits_forward(const Tree<Tensor>& batch) {
  return decoder_->next_logits(required(batch, "input_ids"), context_of(batch));
}

AXLE_REGISTER(CausalLM)

}  // namespace axle
