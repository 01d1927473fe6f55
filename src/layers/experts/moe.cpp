#include "layers/experts/moe.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "config/walk.h"
#include "layers/feed_forward/hidden_projections.h"
#include "nn/key_sequence.h"
#include "nn/layer_stack.h"
#include "nn/real_tokens.h"
#include "ops/annotate.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/reductions/reduce.h"

namespace axle {
namespace {

// Layouts of the hidden units: of blocks [E, O, G, C, H], and of sorted tokens [M, H].
const PartitionSpec kBlockAxes = {{"expert", "data", "fsdp", kReplicated, kShardAxes}};
const PartitionSpec kSortedAxes = {{kBatchAxes, kShardAxes}};

}  // namespace

MoE::MoE(const Config& cfg, const Dims& dims, const Scope& scope)
    : Mixer(scope),
      num_experts_(*cfg.num_experts),
      hidden_dim_(width_of(cfg.hidden_dim, dims.model_dim, config_path(), "hidden_dim")),
      activation_(cfg.activation),
      dispatch_(cfg.dispatch.build({.num_experts = num_experts_}, inner("dispatch"))),
      router_(child("router", cfg.router,
                    {.model_dim = dims.model_dim,
                     .num_experts = num_experts_,
                     .num_groups = dispatch_->num_groups(),
                     .train_borders = dispatch_->train_borders()})),
      up_(child("up", cfg.up, widening(dims.model_dim, hidden_dim_)), num_experts_),
      down_(child("down", cfg.down, narrowing(hidden_dim_, dims.model_dim)), num_experts_),
      shared_(child("shared", cfg.shared, dims)),
      adaptive_(child("adaptive_load_balance", cfg.adaptive_load_balance, {})) {
  if (cfg.gate)
    gate_.emplace(child("gate", *cfg.gate, widening(dims.model_dim, hidden_dim_)), num_experts_);
  if (adaptive_ && !dispatch_->may_drop()) {
    fail("adaptive_load_balance",
         "expected none, since the dispatch drops nothing, got a layer that follows what is "
         "dropped");
  }
  if (const auto text = uncountable_text(param_specs())) fail("num_experts", *text + "; lower it");
}

Tree<ParamSpec> MoE::param_specs() const {
  Tree<ParamSpec> out = router_->param_specs();
  if (gate_) out.merge(gate_->param_specs());
  out.merge(up_.param_specs());
  out.merge(down_.param_specs());
  if (shared_) out.merge((*shared_)->param_specs());
  return out;
}

Tree<Tensor> MoE::initialize(const random::Key& key) const {
  KeySequence keys(key);
  Tree<Tensor> out = router_->initialize(keys.next());
  if (gate_) out.merge(gate_->initialize(keys.next()));
  out.merge(up_.initialize(keys.next()));
  out.merge(down_.initialize(keys.next()));
  if (shared_) out.merge((*shared_)->initialize(keys.next()));
  return out;
}

Tensor MoE::run_experts(const Tensor& x, const std::optional<Tensor>& sizes_E) const {
  Tensor hidden;
  if (gate_) {
    const Tensor gate = name((*gate_)(x, sizes_E), "gate");
    hidden = activation_(gate) * name(up_(x, sizes_E), "up");
  } else {
    hidden = activation_(name(up_(x, sizes_E), "up"));
  }
  return down_(name(constrain(hidden, sizes_E ? kSortedAxes : kBlockAxes), "hidden"), sizes_E);
}

Experts MoE::experts() const {
  Experts out{
      .run = [this](const Tensor& x, const auto& sizes_E) { return run_experts(x, sizes_E); }};
  const auto add = [&](const ExpertProjections& projections) {
    for (const auto& [path, spec] : projections.param_specs()) out.parameters.push_back(path);
  };
  if (gate_) add(*gate_);
  add(up_);
  add(down_);
  return out;
}

void MoE::add_losses(const Routing& routing, const Dispatched& dispatched) {
  if (decoding()) return;  // nothing is dropped, and the router gives no losses
  if (dispatched.dropped_K) add_summary("dropped", mean(*dispatched.dropped_K));
  for (const auto& [loss, value] : routing.losses) {
    const bool adapts = adaptive_ && loss == "load_balance";
    add_aux_loss(loss, adapts ? value * (*adaptive_)(*dispatched.dropped_K) : value);
  }
}

void MoE::check_groups(const Tensor& x_BTD) const {
  const int64_t groups = dispatch_->num_groups();
  if (decoding() || (x_BTD.rank() == 3 && x_BTD.dim(0) * x_BTD.dim(1) % groups == 0)) return;
  throw ShapeError(
      fmt::format("{}: expected x [B, T, D] with tokens that form {} groups "
                  "(outer_batch * num_groups), got {}",
                  join_config_path(config_path(), "dispatch"), groups, to_text(x_BTD.type())));
}

Tensor MoE::forward(const Tensor& x_BTD, const MixerContext& context) {
  check_groups(x_BTD);
  // Padding is a row of zeros, which adds nothing to what experts see, and nothing comes back.
  const Tensor real_BTD = without_padding(x_BTD);
  Routing routing = router_(real_BTD);
  routing.weights_BTK = without_padding(routing.weights_BTK);
  const Dispatched dispatched = dispatch_->run(real_BTD, routing, experts());
  add_losses(routing, dispatched);
  return shared_ ? dispatched.y_BTD + (*shared_)(x_BTD, context) : dispatched.y_BTD;
}

AXLE_REGISTER(MoE)

}  // namespace axle
