#include "layers/models/sequential_mtp_head.h"

#include "base/checked.h"
#include "config/register.h"
#include "ops/movement/slice.h"

namespace axle {

SequentialMtpHead::SequentialMtpHead(const Config& cfg, const Dims& dims, const Scope& scope)
    : MtpHead(scope),
      hidden_norm_(child("hidden_norm", cfg.hidden_norm, {.input_dim = dims.model_dim})),
      token_norm_(child("token_norm", cfg.token_norm, {.input_dim = dims.model_dim})),
      proj_(child("proj", cfg.proj,
                  {.input_dim = saturating_product(dims.model_dim, 2),
                   .output_dim = dims.model_dim,
                   .input_axes = kModelDimAxes,
                   .output_axes = kShardAxes})),
      layer_(child("layer", cfg.layer, dims)) {}

Tensor SequentialMtpHead::forward(const MtpInputs& inputs, const MixerContext& context) {
  const Tensor tokens_BTD = token_norm_(inputs.tokens_BTD);
  const Tensor hidden_BTD = hidden_norm_(inputs.previous_BTD);
  const Tensor x_BTD = proj_(concatenate({tokens_BTD, hidden_BTD}, -1));
  return layer_(constrain(x_BTD, kTokenAxes), context);
}

AXLE_REGISTER(SequentialMtpHead)

}  // namespace axle
