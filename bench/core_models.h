// The models of bench/core_models.py, written with tensor functions alone. core_models_jax.py of
// bench/peers has the same models, weights and data.
//
// Letters in tensor names:
//   B batch   T time   D input dim   H hidden dim   E experts   C capacity of an expert
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core_llama.h"

namespace axle {

/// A weight: its initial values are uniform in [-bound, bound); all 1 where the bound is 0.
struct CoreWeight {
  Shape shape;
  double bound;
};
/// An input: floats uniform in [-1, 1), or integers in [0, high).
struct CoreInput {
  Type type;
  int64_t high = 0;
};

struct CoreModel {
  std::vector<CoreWeight> weights;
  std::vector<CoreInput> inputs;
  /// Maps weights and inputs to the loss.
  std::function<Tensor(const Values& weights, const Values& inputs)> loss;
};

inline Tensor mean_cross_entropy(const Tensor& logits, const Tensor& labels) {
  return mean(softmax_cross_entropy(logits, labels).loss);
}

/// Four products with ReLU.
inline CoreModel core_mlp() {
  const std::vector<int64_t> dims = {784, 1024, 1024, 1024, 10};
  CoreModel model{.inputs = {{{DType::kF32, {256, dims[0]}}}, {{DType::kI32, {256}}, 10}}};
  for (size_t i = 0; i + 1 < dims.size(); ++i) {
    const double bound = 1 / std::sqrt(static_cast<double>(dims[i]));
    model.weights.push_back({{dims[i], dims[i + 1]}, bound});
    model.weights.push_back({{dims[i + 1]}, bound});
  }
  model.loss = [](const Values& w, const Values& inputs) {
    Tensor x = inputs[0];
    for (size_t i = 0; i < w.size(); i += 2) {
      x = dot(x, w[i]) + w[i + 1];
      if (i + 2 < w.size()) x = relu(x);
    }
    return mean_cross_entropy(x, inputs[1]);
  };
  return model;
}

/// A Llama of 12 layers; with `unroll` of 0, layers are traced one by one, else they are a scan.
inline CoreModel core_transformer(int64_t unroll) {
  const CoreLlama llama{.num_layers = 12,
                        .model_dim = 256,
                        .num_heads = 4,
                        .hidden_dim = 1024,
                        .vocab_size = 1024,
                        .batch_size = 4,
                        .seq_len = 128};
  CoreModel model{.inputs = {{llama.tokens(), 1024}, {llama.tokens(), 1024}}};
  const std::vector<Type> types = llama.weights();
  model.weights.push_back({types[0].dims, 0.1});
  for (size_t i = 1; i <= CoreLlama::kPerLayer; ++i) {
    Shape stacked = types[i].dims;
    stacked.insert(stacked.begin(), llama.num_layers);
    model.weights.push_back({stacked, types[i].rank() == 1 ? 0 : 0.05});
  }
  model.weights.push_back({types.back().dims, 0});
  model.loss = [llama, unroll](const Values& w, const Values& inputs) {
    Tensor x = take(w[0], inputs[0]);
    const Values stacked(w.begin() + 1, w.end() - 1);
    if (unroll == 0) {
      for (int64_t layer = 0; layer < llama.num_layers; ++layer) {
        Values own;
        for (const Tensor& t : stacked) own.push_back(index_in_dim(t, 0, layer));
        x = llama.block(x, own.data());
      }
    } else {
      x = scan(
              [&](const Values& carry, const Values& own) {
                return ScanResult{{llama.block(carry[0], own.data())}, {}};
              },
              {x}, stacked, llama.num_layers, {.unroll = unroll})
              .carry[0];
    }
    return mean_cross_entropy(einsum("btm,vm->btv", llama.norm(x, w.back()), w[0]), inputs[1]);
  };
  return model;
}

/// Three convolutions of images of 32 x 32, their mean, and a product.
inline CoreModel core_conv() {
  CoreModel model{.weights = {{{3, 3, 3, 32}, 0.2},
                              {{3, 3, 32, 64}, 0.06},
                              {{3, 3, 64, 128}, 0.04},
                              {{128, 10}, 0.09},
                              {{10}, 0.09}},
                  .inputs = {{{DType::kF32, {32, 32, 32, 3}}}, {{DType::kI32, {32}}, 10}}};
  model.loss = [](const Values& w, const Values& inputs) {
    Tensor x = inputs[0];
    for (size_t i = 0; i < 3; ++i) {
      const int64_t stride = i == 0 ? 1 : 2;
      x = relu(convolution(x, w[i], {.strides = {stride, stride}, .padding = PaddingRule::kSame}));
    }
    return mean_cross_entropy(dot(mean(x, {1, 2}), w[3]) + w[4], inputs[1]);
  };
  return model;
}

/// An LSTM over 128 steps of time, `unroll` of them in the body of the loop.
inline CoreModel core_lstm(int64_t unroll) {
  constexpr int64_t kTime = 128, kBatch = 32, kDim = 256, kHidden = 256;
  CoreModel model{
      .weights = {{{kDim, 4 * kHidden}, 0.06},
                  {{kHidden, 4 * kHidden}, 0.06},
                  {{4 * kHidden}, 0.06},
                  {{kHidden, 1}, 0.06}},
      .inputs = {{{DType::kF32, {kTime, kBatch, kDim}}}, {{DType::kF32, {kTime, kBatch, 1}}}}};
  model.loss = [unroll](const Values& w, const Values& inputs) {
    const Tensor zero = zeros({kBatch, kHidden});
    const ScanResult r = scan(
        [&](const Values& carry, const Values& x_BD) {
          const Values gates = split_equally(dot(x_BD[0], w[0]) + dot(carry[0], w[1]) + w[2], 4, 1);
          const Tensor c_BH = sigmoid(gates[1]) * carry[1] + sigmoid(gates[0]) * tanh(gates[2]);
          const Tensor h_BH = sigmoid(gates[3]) * tanh(c_BH);
          return ScanResult{{h_BH, c_BH}, {h_BH}};
        },
        {zero, zero}, {inputs[0]}, kTime, {.unroll = unroll});
    return mean(square(einsum("tbh,ho->tbo", r.ys[0], w[3]) - inputs[1]));
  };
  return model;
}

/// A mixture of experts: each token goes to the expert that it scores highest, by scatter, and
/// comes back by gather. An expert drops what exceeds its capacity.
inline CoreModel core_moe() {
  constexpr int64_t kTokens = 2048, kDim = 256, kExperts = 8, kHidden = 512, kCapacity = 384;
  CoreModel model{.weights = {{{kDim, kExperts}, 0.06},
                              {{kExperts, kDim, kHidden}, 0.06},
                              {{kExperts, kHidden, kDim}, 0.04}},
                  .inputs = {{{DType::kF32, {kTokens, kDim}}}, {{DType::kF32, {kTokens, kDim}}}}};
  model.loss = [](const Values& w, const Values& inputs) {
    const Tensor& x_BD = inputs[0];
    const Tensor p_BE = softmax(dot(x_BD, w[0]));
    const Tensor expert_B = argmax(p_BE);
    const Tensor hot_BE = one_hot(expert_B, kExperts, DType::kI32);
    const Tensor before_B = reduce_sum(cumsum(hot_BE, 0) * hot_BE, {1}) - 1;
    const Tensor fits_B = before_B < kCapacity;
    const Tensor slot_B = select(fits_B, expert_B * kCapacity + before_B, kExperts * kCapacity);
    const Tensor in = set_at(zeros({kExperts * kCapacity, kDim}), slot_B, x_BD);
    const Tensor h_ECH =
        relu(einsum("ecd,edh->ech", reshape(in, {kExperts, kCapacity, kDim}), w[1]));
    const Tensor out = reshape(einsum("ech,ehd->ecd", h_ECH, w[2]), {kExperts * kCapacity, kDim});
    const Tensor gate_B = reduce_max(p_BE, {1}) * astype(fits_B, DType::kF32);
    return mean(square(take(out, slot_B) * expand_dims(gate_B, 1) - inputs[1]));
  };
  return model;
}

/// The models by name.
inline std::map<std::string, CoreModel> core_models() {
  return {{"mlp", core_mlp()},
          {"transformer_unrolled", core_transformer(0)},
          {"transformer_scan", core_transformer(1)},
          {"conv", core_conv()},
          {"lstm_scan", core_lstm(1)},
          {"lstm_unrolled", core_lstm(8)},
          {"moe", core_moe()}};
}

/// Maps (step, weights, first moments, second moments, inputs) to (loss, step, weights, first
/// moments, second moments): one step of Adam.
inline Values core_train_step(const CoreModel& model, const Values& state) {
  const size_t n = model.weights.size();
  const auto part = [&](size_t i) {
    const auto begin = state.begin() + static_cast<ptrdiff_t>(1 + i * n);
    return Values(begin, begin + static_cast<ptrdiff_t>(n));
  };
  const Values weights = part(0), first = part(1), second = part(2);
  const Values inputs(state.begin() + static_cast<ptrdiff_t>(1 + 3 * n), state.end());
  const auto [loss, gradients] =
      value_and_grad([&](const Values& w) { return Values{model.loss(w, inputs)}; }, weights);
  const Tensor step = state[0] + 1;
  const Tensor rate1 = 1 - pow(scalar(0.9), step), rate2 = 1 - pow(scalar(0.999), step);
  Values new_weights, new_first, new_second;
  for (size_t i = 0; i < n; ++i) {
    new_first.push_back(first[i] * 0.9 + gradients[i] * 0.1);
    new_second.push_back(second[i] * 0.999 + square(gradients[i]) * 0.001);
    new_weights.push_back(weights[i] -
                          new_first[i] / rate1 / (sqrt(new_second[i] / rate2) + 1e-8) * 1e-3);
  }
  Values out{loss[0], step};
  for (const Values& values : {new_weights, new_first, new_second})
    out.insert(out.end(), values.begin(), values.end());
  return out;
}

}  // namespace axle
