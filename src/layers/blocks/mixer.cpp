#include "layers/blocks/mixer.h"

#include "config/register.h"
#include "ops/movement/gather.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"

namespace axle {

MixerContext MixerContext::read(InputReader& inputs, const std::string& prefix) {
  return {.positions = inputs.optional(prefix + "/positions"),
          .segment_ids = inputs.optional(prefix + "/segment_ids"),
          .last_index = inputs.optional(prefix + "/last_index")};
}

Tensor MixerContext::last(const Tensor& x_BTD) const {
  if (!last_index) return index_in_dim(x_BTD, 1, -1);
  const int64_t batch = x_BTD.dim(0), width = x_BTD.dim(2);
  const Tensor last_BD = gather(x_BTD, *last_index,
                                {.offset = {1},
                                 .collapsed = {1},
                                 .operand_batch = {0},
                                 .indices_batch = {0},
                                 .index_map = {1},
                                 .index_vector_dim = 1},
                                {1, 1, width});
  return reshape(last_BD, {batch, width});
}

AXLE_REGISTER(MixerDims)

}  // namespace axle
