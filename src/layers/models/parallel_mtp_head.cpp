#include "layers/models/parallel_mtp_head.h"

#include "config/register.h"

namespace axle {

ParallelMtpHead::ParallelMtpHead(const Config& cfg, const Dims& dims, const Scope& scope)
    : MtpHead(scope), layer_(child("layer", cfg.layer, dims)) {}

Tensor ParallelMtpHead::forward(const MtpInputs& inputs, const MixerContext& context) {
  return layer_(inputs.trunk_BTD, context);
}

AXLE_REGISTER(ParallelMtpHead)

}  // namespace axle
