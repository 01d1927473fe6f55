#include "interop/families/expert_layers.h"

#include "layers/dense/linear.h"
#include "layers/experts/moe.h"

namespace axle {

Child<Mixer> experts_of(const ForeignConfig& config, const ExpertSizes& sizes) {
  const double load_balance = config.number("router_aux_loss_coef", 1e-3);
  config.expect("router_jitter_noise", 0.0);
  return MoE::Config{
      .num_experts = sizes.num_experts,
      .router =
          TopKRouter::Config{
              .top_k = config.size("num_experts_per_tok"),
              .weights = sizes.weights,
              .losses = {.load_balance =
                             config.flag("output_router_logits", false) ? load_balance : 0,
                         .z = 0}},
      .hidden_dim = FixedDim{.dim = sizes.hidden_dim},
      .activation = activation_of(config, "hidden_act"),
      .gate = Linear::Config{.bias = false}};
}

std::vector<WeightRow> with_expert_weights(std::vector<WeightRow> rows, const std::string& module,
                                           const ExpertNames& names) {
  const std::string ours = "decoder/layers/layer/feed_forward/body/",
                    theirs = "model.layers.{layer}." + module + ".";
  std::erase_if(rows, [&](const WeightRow& row) { return row.ours.starts_with(ours); });
  const WeightRows layer(rows, ours, theirs);
  layer.linear("router", "gate", Storage::kTransposed);
  layer.linear("gate", "experts.{expert}." + names.gate, Storage::kTransposed);
  layer.linear("up", "experts.{expert}." + names.up, Storage::kTransposed);
  layer.linear("down", "experts.{expert}." + names.down, Storage::kTransposed);
  return rows;
}

}  // namespace axle
