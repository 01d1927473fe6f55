#include "layers/models/token_losses.h"

#include <utility>

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/reductions/reduce.h"

namespace axle {

LossSums head_loss_sums(Decoder& decoder, const Tensor& x_BTD, const Tensor& labels_BT,
                        std::optional<int64_t> chunk_len, const TokenLoss* further) {
  if (!chunk_len) return loss_sums(decoder.logits_of(x_BTD), labels_BT, further);
  const Invocation& outer = Invocation::current();
  return chunked_loss_sums(
      [&](const Tensor& x_BtD, const std::optional<Tensor>& ids_Bt) {
        const Invocation in_chunk(
            outer.path(), outer.parameters(),
            {.training = outer.options().training, .segment_ids = ids_Bt, .in_loop = true});
        return decoder.logits_of(x_BtD);
      },
      x_BTD, outer.segment_ids(), labels_BT, *chunk_len, further);
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
