#include "layers/attention/cores/attention_core.h"

#include "config/register.h"
#include "ops/elementwise/compare.h"
#include "ops/movement/broadcast.h"
#include "ops/movement/shape.h"

namespace axle {

Tensor AttentionCore::operator()(const Tensor& q_BTNH, const KeyValues& keys,
                                 const Visibility& visibility) {
  const Tensor y_BTNH = LayerRole::operator()(q_BTNH, keys, visibility);
  return zeroes_unseen() ? y_BTNH : without_unseen(y_BTNH, keys, visibility);
}

Tensor AttentionCore::without_unseen(const Tensor& y_BTNH, const KeyValues& keys,
                                     const Visibility& visibility) {
  const Tensor sees_BT1 = visibility.sees_some(keys.k_BSKH.dim(1));
  if (sees_BT1) return select(broadcast_to(expand_dims(sees_BT1, -1), y_BTNH.shape()), y_BTNH, 0);
  return y_BTNH;
}

std::vector<Method> AttentionCore::methods() {
  return {method<Tensor, const Tensor&, const KeyValues&, const Visibility&>(
      "forward", kInputs,
      [this](const Tensor& q, const KeyValues& keys, const Visibility& visibility) {
        return (*this)(q, keys, visibility);
      })};
}

AXLE_REGISTER(AttentionCore::Dims)

template class LayerRole<AttentionCore, AttentionCore::Signature>;

}  // namespace axle
