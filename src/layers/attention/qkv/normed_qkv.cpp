#include "layers/attention/qkv/normed_qkv.h"

#include "config/register.h"

namespace axle {

QKVTensors NormedQKV::forward(const Tensor& x_BTD, const std::optional<Tensor>& positions_BT) {
  QKVTensors x = inner_(x_BTD, positions_BT);
  if (query_norm_) x.q_BTNH = (*query_norm_)(x.q_BTNH);
  if (key_norm_ && x.k_BSKH) x.k_BSKH = (*key_norm_)(x.k_BSKH);
  return x;
}

AXLE_REGISTER(NormedQKV)

}  // namespace axle
