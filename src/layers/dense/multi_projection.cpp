#include "layers/dense/multi_projection.h"

#include "config/register.h"

namespace axle {

void MultiProjection::check_result(const Tensor& y, const Tensor& x) const {
  if (!given_dims()) return;
  Type expected = x.type();
  expected.dims.back() = given_dims()->num_outputs;
  expected.dims.push_back(given_dims()->output_dim);
  expect_result(y, expected);
}

AXLE_REGISTER(MultiProjection::Dims)

template class LayerRole<MultiProjection, MultiProjection::Signature>;

}  // namespace axle
