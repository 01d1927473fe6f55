#include "layers/attention/qkv/qkv.h"

#include "config/register.h"

namespace axle {

AXLE_REGISTER(QKV::Dims)

template class LayerRole<QKV, QKV::Signature>;

}  // namespace axle
