// Benchmarks of tracing, differentiating, simplifying and writing a Llama of 96 layers, each traced
// anew. The whole way is also timed with 320 layers, which have 75,000 ops. They need no device.
#include <benchmark/benchmark.h>

#include "core_llama.h"
#include "lower/stablehlo.h"
#include "transform/simplify.h"

namespace axle {
namespace {

constexpr int64_t kLayers = 96;

CoreLlama llama(int64_t num_layers) {
  return {.num_layers = num_layers,
          .model_dim = 4096,
          .num_heads = 32,
          .hidden_dim = 11008,
          .vocab_size = 32000,
          .batch_size = 1,
          .seq_len = 2048};
}

std::vector<Type> input_types(const CoreLlama& model) {
  std::vector<Type> types = model.weights();
  types.insert(types.end(), 2, model.tokens());
  return types;
}

// The model's loss, as a function of its weights.
Tensor loss_of(const CoreLlama& model, const Values& weights, const Values& inputs) {
  return model.loss(weights, inputs[inputs.size() - 2], inputs.back());
}

std::shared_ptr<Region> traced_loss(const CoreLlama& model) {
  return trace(
      [&](const Values& inputs) {
        return Values{loss_of(model, Values(inputs.begin(), inputs.end() - 2), inputs)};
      },
      input_types(model));
}

// The loss and the gradients of all weights.
std::shared_ptr<Region> traced_gradients(const CoreLlama& model) {
  return trace(
      [&](const Values& inputs) {
        auto [results, gradients] =
            value_and_grad([&](const Values& w) { return Values{loss_of(model, w, inputs)}; },
                           Values(inputs.begin(), inputs.end() - 2));
        results.insert(results.end(), gradients.begin(), gradients.end());
        return results;
      },
      input_types(model));
}

Program written(const std::shared_ptr<const Region>& graph) {
  std::vector<ProgramValue> inputs, outputs;
  for (const Tensor& p : graph->parameters()) inputs.push_back({.name = "x", .type = p.type()});
  for (const Tensor& r : graph->results()) outputs.push_back({.name = "y", .type = r.type()});
  return lower(graph, "llama", std::move(inputs), std::move(outputs));
}

// Reports the ops that were made and the time of one run by each of them.
void report(benchmark::State& state, const Region& region) {
  const auto ops = static_cast<double>(region.num_nodes());
  state.counters["ops"] = ops;
  state.counters["time_per_op"] = benchmark::Counter(
      ops, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void trace_loss(benchmark::State& state) {
  const CoreLlama model = llama(kLayers);
  for (auto _ : state) benchmark::DoNotOptimize(traced_loss(model));
  report(state, *traced_loss(model));
}
BENCHMARK(trace_loss)->Unit(benchmark::kMillisecond);

void trace_and_differentiate(benchmark::State& state) {
  const CoreLlama model = llama(kLayers);
  for (auto _ : state) benchmark::DoNotOptimize(traced_gradients(model));
  report(state, *traced_gradients(model));
}
BENCHMARK(trace_and_differentiate)->Unit(benchmark::kMillisecond);

void simplify_gradients(benchmark::State& state) {
  const auto graph = traced_gradients(llama(kLayers));
  for (auto _ : state) benchmark::DoNotOptimize(simplify(*graph));
  report(state, *graph);
}
BENCHMARK(simplify_gradients)->Unit(benchmark::kMillisecond);

void write_gradients(benchmark::State& state) {
  const auto graph = simplify(*traced_gradients(llama(kLayers)));
  for (auto _ : state) benchmark::DoNotOptimize(written(graph));
  report(state, *graph);
  state.counters["text_mb"] = static_cast<double>(written(graph).text.size()) / (1 << 20);
}
BENCHMARK(write_gradients)->Unit(benchmark::kMillisecond);

// All of it, from the functions of the model to the text, by the number of layers.
void trace_to_text(benchmark::State& state) {
  const CoreLlama model = llama(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(written(simplify(*traced_gradients(model))));
  report(state, *traced_gradients(model));
}
BENCHMARK(trace_to_text)->Arg(kLayers)->Arg(320)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace axle
