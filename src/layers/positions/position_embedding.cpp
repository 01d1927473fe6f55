#include "layers/positions/position_embedding.h"

#include "config/register.h"

namespace axle {

AXLE_REGISTER(PositionEmbedding::Dims)

template class LayerRole<PositionEmbedding, PositionEmbedding::Signature>;

}  // namespace axle
