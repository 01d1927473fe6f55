#include "layers/attention/cores/attention_core.h"

#include "config/register.h"

namespace axle {

AXLE_REGISTER(AttentionCore::Dims)

}  // namespace axle
