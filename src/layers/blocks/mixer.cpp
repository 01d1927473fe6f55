#include "layers/blocks/mixer.h"

#include "config/register.h"
#include "ops/elementwise/activations.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/index.h"
#include "ops/movement/slice.h"

namespace axle {

MixerContext MixerContext::read(InputReader& inputs, const std::string& prefix) {
  return {.positions = inputs.optional(prefix + "/positions"),
          .segment_ids = inputs.optional(prefix + "/segment_ids"),
          .last_index = inputs.optional(prefix + "/last_index"),
          .prefix_lengths = inputs.optional(prefix + "/prefix_lengths")};
}

Tensor MixerContext::last(const Tensor& x_BTD) const {
  return last_index ? batched_take(x_BTD, *last_index) : index_in_dim(x_BTD, 1, -1);
}

AXLE_REGISTER(MixerDims)

template class LayerRole<Mixer, Mixer::Signature>;
template class LayerRole<Block, Block::Signature>;

Tensor Add::forward(const Tensor& x_BTD, const Tensor& y_BTD) {
  return x_BTD + (weight_ == 1 ? y_BTD : weight_ * y_BTD);
}

AXLE_REGISTER(Join::Dims)
AXLE_REGISTER(Add)

template class LayerRole<Join, Join::Signature>;

GatedAdd::GatedAdd(const Config& cfg, const Dims&, const Scope& scope)
    : Join(scope), gate_(param("gate", {.shape = {}, .init = Constant{cfg.initial}})) {}

Tensor GatedAdd::forward(const Tensor& x_BTD, const Tensor& y_BTD) {
  const Tensor open = sigmoid(gate_());
  add_summary("gate", astype(open, DType::kF32));
  return x_BTD + open * y_BTD;
}

AXLE_REGISTER(GatedAdd)

Tensor StochasticJoin::forward(const Tensor& x_BTD, const Tensor& y_BTD) {
  const Tensor kept_BTD = drop_(y_BTD);
  return join_(x_BTD, kept_BTD);
}

AXLE_REGISTER(StochasticJoin)

AXLE_REGISTER(Published)

}  // namespace axle
