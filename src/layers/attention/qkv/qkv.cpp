#include "layers/attention/qkv/qkv.h"

#include "config/register.h"

namespace axle {

void QKV::check_result(const QKVTensors& heads, const Tensor& x_BTD,
                       const std::optional<Tensor>&) const {
  const int64_t batch = x_BTD.dim(0);
  const int64_t num_keys = has_source() ? kAnySize : x_BTD.dim(1);
  expect_result(
      heads.q_BTNH,
      {x_BTD.dtype(),
       {batch, x_BTD.dim(1), given_dims() ? int64_t{given_dims()->num_heads} : kAnySize, kAnySize}},
      "queries");
  if (!makes_keys()) return;
  expect_result(heads.k_BSKH, {x_BTD.dtype(), {batch, num_keys, kAnySize, heads.q_BTNH.dim(3)}},
                "keys");
  expect_result(heads.v_BSKH,
                {x_BTD.dtype(), {batch, heads.k_BSKH.dim(1), heads.k_BSKH.dim(2), kAnySize}},
                "values");
}

AXLE_REGISTER(QKV::Dims)

template class LayerRole<QKV, QKV::Signature>;

}  // namespace axle
