#include "layers/experts/router.h"

#include "config/register.h"

namespace axle {

void Router::check_result(const Routing& routing, const Tensor& x_BTD) const {
  const Shape choices = {x_BTD.dim(0), x_BTD.dim(1), num_choices()};
  expect_result(routing.experts_BTK, {DType::kI32, choices}, "experts");
  expect_result(routing.weights_BTK, {DType::kF32, choices}, "weights");
  for (const auto& [name, loss] : routing.losses)
    expect_result(loss, {DType::kF32, {}}, "the loss " + name);
}

AXLE_REGISTER(RouterDims)

template class LayerRole<Router, Router::Signature>;

}  // namespace axle
