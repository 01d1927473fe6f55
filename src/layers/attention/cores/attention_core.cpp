#include "layers/attention/cores/attention_core.h"

#include "config/register.h"

namespace axle {

AXLE_REGISTER(AttentionCore::Dims)

template class LayerRole<AttentionCore, AttentionCore::Signature>;

}  // namespace axle
