// A Llama written with tensor functions alone, without layers: the program of the benchmarks of the
// tensor core.
//
// Letters in tensor names:
//   B batch   T queries   S keys   M model dim   N heads   H head dim   F hidden dim   V vocabulary
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "ops/ops.h"
#include "transform/transform.h"

namespace axle {

struct CoreLlama {
  int64_t num_layers, model_dim, num_heads, hidden_dim, vocab_size, batch_size, seq_len;

  int64_t head_dim() const { return model_dim / num_heads; }
  static constexpr size_t kPerLayer = 9;  // weights of a layer

  /// Types of the weights: embedding, those of each layer, scale of the last norm.
  std::vector<Type> weights() const {
    const int64_t m = model_dim, n = num_heads, h = head_dim(), f = hidden_dim;
    std::vector<Type> types{{DType::kF32, {vocab_size, m}}};
    for (int64_t layer = 0; layer < num_layers; ++layer) {
      for (const Shape& shape : std::vector<Shape>{
               {m}, {m, n, h}, {m, n, h}, {m, n, h}, {n, h, m}, {m}, {m, f}, {m, f}, {f, m}})
        types.push_back({DType::kF32, shape});
    }
    types.push_back({DType::kF32, {m}});
    return types;
  }
  Type tokens() const { return {DType::kI32, {batch_size, seq_len}}; }

  /// The mean cross entropy of the labels.
  Tensor loss(const Values& weights, const Tensor& ids_BT, const Tensor& labels_BT) const {
    Tensor x_BTM = take(weights[0], ids_BT);
    for (int64_t layer = 0; layer < num_layers; ++layer) {
      const NameScope scope("layer" + std::to_string(layer));
      x_BTM = block(x_BTM, &weights[1 + static_cast<size_t>(layer) * kPerLayer]);
    }
    const Tensor logits = einsum("btm,vm->btv", norm(x_BTM, weights.back()), weights[0]);
    return mean(softmax_cross_entropy(logits, labels_BT).loss);
  }

  /// x over the root of its mean square, times the scale.
  Tensor norm(const Tensor& x_BTM, const Tensor& scale_M) const {
    return x_BTM * rsqrt(mean(square(x_BTM), {2}, /*keep_dims=*/true) + 1e-6) * scale_M;
  }
  /// A layer: attention and a gated product, each with its norm and residual. w are the weights of
  /// the layer, in the order of weights().
  Tensor block(const Tensor& x_BTM, const Tensor* w) const {
    const Tensor h_BTM = norm(x_BTM, w[0]);
    const Tensor q_BTNH = rotated(einsum("btm,mnh->btnh", h_BTM, w[1]));
    const Tensor k_BSNH = rotated(einsum("btm,mnh->btnh", h_BTM, w[2]));
    const Tensor v_BSNH = einsum("btm,mnh->btnh", h_BTM, w[3]);
    const double scale = 1 / std::sqrt(static_cast<double>(head_dim()));
    const Tensor scores = einsum("btnh,bsnh->bnts", q_BTNH, k_BSNH) * scale;
    const Tensor sees = iota({seq_len, seq_len}, 0) >= iota({seq_len, seq_len}, 1);
    const Tensor weights_BNTS = softmax(select(broadcast_to(sees, scores.shape()), scores, -1e9));
    const Tensor mixed = einsum("bnts,bsnh->btnh", weights_BNTS, v_BSNH);
    const Tensor y_BTM = x_BTM + einsum("btnh,nhm->btm", mixed, w[4]);
    const Tensor g_BTM = norm(y_BTM, w[5]);
    const Tensor f_BTF =
        silu(einsum("btm,mf->btf", g_BTM, w[6])) * einsum("btm,mf->btf", g_BTM, w[7]);
    return y_BTM + einsum("btf,fm->btm", f_BTF, w[8]);
  }

 private:
  Tensor rotated(const Tensor& x_BTNH) const {
    const int64_t half = head_dim() / 2;
    const Tensor rate_H =
        exp(iota({half}, 0, DType::kF32) * (-std::log(10000.0) / static_cast<double>(half)));
    const Tensor angle = expand_dims(iota({seq_len, 1}, 0, DType::kF32) * rate_H, 1);
    const Values parts = split_equally(x_BTNH, 2, 3);
    return concatenate(Values{parts[0] * cos(angle) - parts[1] * sin(angle),
                              parts[1] * cos(angle) + parts[0] * sin(angle)},
                       3);
  }
};

}  // namespace axle
