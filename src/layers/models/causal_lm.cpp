#include "layers/models/causal_lm.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/reductions/cross_entropy.h"
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
    : Model(scope), z_loss_scale_(cfg.z_loss_scale), decoder_(child("decoder", cfg.decoder, {})) {}

Tensor CausalLM::required(const Tree<Tensor>& batch, const std::string& key) const {
  const auto found = find(batch, key);
  if (!found)
    throw ConfigError(fmt::format("{}: the batch must hold {}, got none",
                                  path().empty() ? "the model" : path(), key));
  return *found;
}

ModelOutput CausalLM::forward(const Tree<Tensor>& batch) {
  const Tensor labels_BT = required(batch, "target_labels");
  const Tensor logits_BTV = decoder_(required(batch, "input_ids"), context_of(batch));
  const CrossEntropy ce_BT = softmax_cross_entropy(logits_BTV, labels_BT);
  const Tensor live_BT = labels_BT >= 0;
  const Tensor num_targets = sum(astype(live_BT, ce_BT.loss.dtype()));
  const auto mean_of_live = [&](const Tensor& x_BT) {
    return sum(select(live_BT, x_BT, 0)) / maximum(num_targets, 1);
  };

  ModelOutput out{.loss = mean_of_live(ce_BT.loss)};
  out.metrics.emplace("cross_entropy", out.loss);
  out.metrics.emplace(kNumTargets, num_targets);
  if (z_loss_scale_ != 0) {
    const Tensor z_loss = z_loss_scale_ * mean_of_live(square(ce_BT.log_z));
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
