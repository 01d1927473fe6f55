#include "layers/attention/cores/softmax_attention.h"

#include "config/register.h"
#include "layers/mesh_axes.h"
#include "ops/annotate.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/movement/shape.h"
#include "ops/reductions/reduce.h"
#include "ops/reductions/softmax.h"

namespace axle {

SoftmaxAttention::SoftmaxAttention(const Config& cfg, const Dims& dims, const Scope& scope)
    : ScoredCore(cfg, dims, scope) {
  if (cfg.sink) {
    sink_ = param("sink", {.shape = {dims.num_heads}, .mesh_axes = {kShardAxes}, .init = Zeros{}});
  }
}

Tensor SoftmaxAttention::weights(const Tensor& logits, const HeadGroups& heads, DType result) {
  if (!sink_) return softmax(logits, -1, result);
  const Tensor own = heads.aligned(expand_dims(expand_dims(*sink(), -1), -1), true);
  const Tensor largest = stop_gradient(maximum(reduce_max(logits, {-1}, true), own));
  const Tensor unnormalised = exp(logits - largest);
  const Tensor total = reduce_sum(unnormalised, {-1}, true) + exp(own - largest);
  return astype(unnormalised / total, result);
}

std::optional<Tensor> SoftmaxAttention::sink() {
  return sink_ ? std::optional(astype((*sink_)(), DType::kF32)) : std::nullopt;
}

AXLE_REGISTER(SoftmaxAttention)

}  // namespace axle
