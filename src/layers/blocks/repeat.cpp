#include "layers/blocks/repeat.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/register.h"
#include "layers/blocks/layer_loop.h"
#include "layers/blocks/stacked.h"
#include "nn/layer_stack.h"

namespace axle {
Repeat::Repeat(const Config& cfg, const Dims& dims, const Scope& scope)
    : Block(scope),
      num_layers_(cfg.num_layers),
      unroll_(cfg.unroll),
      layer_(child("layer", cfg.layer, dims)) {
  if (std::min(num_layers_, unroll_) > kMaxUnrolled) {
    fail("unroll", fmt::format("at most {} blocks can be unrolled, got {}", kMaxUnrolled, unroll_));
  }
  if (const auto text = uncountable_text(param_specs())) fail("num_layers", *text + "; lower it");
}

Tree<ParamSpec> Repeat::param_specs() const { return stacked(layer_->param_specs(), num_layers_); }
Tree<ParamSpec> Repeat::state_specs() const { return stacked(layer_->state_specs(), num_layers_); }

Tree<StateSpec> Repeat::decode_state_specs(const DecodeDims& dims) const {
  return stacked(layer_->decode_state_specs(dims), num_layers_);
}

Tree<Tensor> Repeat::initialize(const random::Key& key) const {
  return initialize_stacked(*layer_, key, num_layers_);
}

Tensor Repeat::forward(const Tensor& x_BTD, const MixerContext& context) {
  Invocation& outer = Invocation::current();
  const LayerLoop loop{*layer_, outer.path(), num_layers_, unroll_};
  auto [y_BTD, collected] = loop.run(x_BTD, context, current_stack(*layer_));
  outer.merge(std::move(collected));
  return y_BTD;
}

AXLE_REGISTER(Repeat)

}  // namespace axle
