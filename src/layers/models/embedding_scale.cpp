#include "layers/models/embedding_scale.h"

#include "config/register.h"

namespace axle {

double RootOfDim::operator()(int64_t dim) const { return std::sqrt(static_cast<double>(dim)); }

AXLE_REGISTER(RootOfDim)
AXLE_REGISTER(ConstantScale)

}  // namespace axle
