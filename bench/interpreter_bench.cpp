// Benchmark of the interpreter: train steps of a small Llama with AdamW.
#include <benchmark/benchmark.h>

#include <random>

#include "core_llama.h"
#include "ir/eval.h"
#include "transform/simplify.h"

namespace axle {
namespace {

const CoreLlama kLlama{.num_layers = 2,
                       .model_dim = 128,
                       .num_heads = 4,
                       .hidden_dim = 512,
                       .vocab_size = 256,
                       .batch_size = 8,
                       .seq_len = 64};

// Maps (step, weights, first moments, second moments, inputs, labels) to (loss, step, weights,
// first moments, second moments).
Values train_step(const Values& state) {
  const size_t n = kLlama.weights().size();
  const auto part = [&](size_t i) {
    return Values(state.begin() + static_cast<ptrdiff_t>(1 + i * n),
                  state.begin() + static_cast<ptrdiff_t>(1 + (i + 1) * n));
  };
  const Values weights = part(0), first = part(1), second = part(2);
  const auto [loss, gradients] = value_and_grad(
      [&](const Values& w) {
        return Values{kLlama.loss(w, state[state.size() - 2], state.back())};
      },
      weights);
  Tensor square_sum = scalar(0);
  for (const Tensor& g : gradients) square_sum = square_sum + sum(square(g));
  const Tensor clip = minimum(1 / sqrt(square_sum), 1);
  const Tensor step = state[0] + 1;
  const Tensor rate1 = 1 - pow(scalar(0.9), step), rate2 = 1 - pow(scalar(0.95), step);
  Values new_weights, new_first, new_second;
  for (size_t i = 0; i < n; ++i) {
    const Tensor g = gradients[i] * clip;
    new_first.push_back(first[i] * 0.9 + g * 0.1);
    new_second.push_back(second[i] * 0.95 + square(g) * 0.05);
    const Tensor update =
        new_first[i] / rate1 / (sqrt(new_second[i] / rate2) + 1e-8) + weights[i] * 0.1;
    new_weights.push_back(weights[i] - update * 1e-3);
  }
  Values out{loss[0], step};
  for (const Values& values : {new_weights, new_first, new_second})
    out.insert(out.end(), values.begin(), values.end());
  return out;
}

void train_steps(benchmark::State& bench) {
  const std::vector<Type> weights = kLlama.weights();
  std::vector<Type> types{{DType::kF32, {}}};
  for (int i = 0; i < 3; ++i) types.insert(types.end(), weights.begin(), weights.end());
  types.insert(types.end(), 2, kLlama.tokens());
  const auto graph = simplify(*trace(train_step, types));

  std::mt19937 random_bits(1);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<HostTensor> state;
  for (const Type& type : types) state.emplace_back(type);
  for (size_t i = 0; i < weights.size(); ++i) {
    for (float& x : state[1 + i].values<float>())
      x = weights[i].rank() == 1 ? 1 : normal(random_bits);
  }
  for (size_t i = state.size() - 2; i < state.size(); ++i) {
    for (int32_t& id : state[i].values<int32_t>()) id = static_cast<int32_t>(random_bits() % 256);
  }
  double loss = 0;
  for (auto _ : bench) {
    std::vector<HostTensor> results = evaluate(*graph, state);
    loss = results[0].at(0);
    for (size_t i = 1; i < results.size(); ++i) state[i - 1] = std::move(results[i]);
  }
  bench.counters["loss"] = loss;
  bench.counters["steps"] = benchmark::Counter(1, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(train_steps)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace axle
