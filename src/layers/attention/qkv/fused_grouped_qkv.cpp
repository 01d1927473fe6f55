#include "layers/attention/qkv/fused_grouped_qkv.h"

#include "base/checked.h"
#include "config/register.h"
#include "ops/movement/slice.h"

namespace axle {

FusedGroupedQKV::FusedGroupedQKV(const Config& cfg, const Dims& dims, const Scope& scope)
    : QKV(scope),
      num_heads_(dims.num_heads),
      num_kv_heads_(dims.num_kv_heads),
      proj_(child("proj", cfg.proj,
                  {.model_dim = dims.model_dim,
                   .num_heads = saturating_sum(num_heads_, saturating_product(2, num_kv_heads_)),
                   .head_dim = dims.head_dim})) {}

QKVTensors FusedGroupedQKV::forward(const Tensor& x_BTD, const std::optional<Tensor>&) {
  const Values parts = split(proj_(x_BTD), {num_heads_, num_kv_heads_, num_kv_heads_}, 2);
  return {parts[0], parts[1], parts[2]};
}

AXLE_REGISTER(FusedGroupedQKV)

}  // namespace axle
