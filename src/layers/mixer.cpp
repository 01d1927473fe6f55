#include "layers/mixer.h"

#include "config/register.h"
#include "ops/movement/movement.h"

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

}  // namespace axle
