#include "layers/attention/biases/logit_bias.h"

#include "config/register.h"

namespace axle {

AXLE_REGISTER(LogitBias::Dims)

template class LayerRole<LogitBias, LogitBias::Signature>;

}  // namespace axle
