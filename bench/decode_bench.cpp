// Benchmarks of decoding:
//   decode       tokens per second of one row and of several rows, for a Llama of 260,000 random
//                weights
//   decode_step  one step after a long text, whose caches outweigh the weights, with layers
//                unrolled and in a loop
#include <benchmark/benchmark.h>

#include "infer/decode_programs.h"
#include "infer/generator.h"
#include "interop/llama2c.h"
#include "io/file.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/stack.h"
#include "layers/models/causal_lm.h"
#include "pjrt/pjrt_runtime.h"
#include "testing/temp_dir.h"
#include "testing/tiny_llama.h"

namespace {

using namespace axle;

ImportedModel small_llama() {
  const TempDir dir;
  replace_file(dir / "llama.bin", TinyLlama({.dim = 64,
                                             .hidden_dim = 172,
                                             .num_layers = 5,
                                             .num_heads = 8,
                                             .num_kv_heads = 4,
                                             .vocab_size = 512,
                                             .max_seq_len = 512})
                                      .file());
  return read_llama2c(dir / "llama.bin");
}

void decode(benchmark::State& state, const Sampling& sampling) {
  const ImportedModel imported = small_llama();
  const auto model = Child<Model>(imported.config).build({}, {});
  const auto runtime = make_runtime({.backend = "cpu"});
  Generator generator(*model, imported.parameters, *runtime, {.context_len = imported.max_seq_len});
  const std::vector<TokenIds> prompts(static_cast<size_t>(state.range(0)), {1, 403, 407, 261, 378});
  const GenerateOptions options{.sampling = sampling, .max_tokens = 250};
  generator.generate(prompts, options);  // compiles
  int64_t tokens = 0;
  double decode_secs = 0, prefill_secs = 0;
  for (auto _ : state) {
    const Generated out = generator.generate(prompts, options);
    tokens += out.decoded_tokens;
    decode_secs += out.decode_secs;
    prefill_secs += out.prefill_secs;
  }
  state.counters["tokens_per_sec"] = static_cast<double>(tokens) / decode_secs;
  state.counters["prefill_ms"] = 1e3 * prefill_secs / static_cast<double>(state.iterations());
}

BENCHMARK_CAPTURE(decode, greedy, Sampling{})->Arg(1)->Arg(8)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, top_k_top_p, Sampling{.temperature = 1, .top_k = 40, .top_p = 0.9})
    ->Arg(1)
    ->Unit(benchmark::kMillisecond);

// Runs steps of a model of 4 layers of width 256 after `range(0)` positions, each with 8 KB of f32
// cache. All values are zero, since only time and memory count.
void decode_step(benchmark::State& state, const Child<Block>& layers,
                 std::optional<DType> compute_dtype) {
  const Child<Model> config = CausalLM::Config{
      .decoder = Decoder::Config{.model_dim = 256, .vocab_size = 264, .layers = layers}};
  const auto model = config.build({}, Scope{.path = "model"});
  const Program step = decode_program(
      *model, {.cache_len = state.range(0), .compute_dtype = compute_dtype}, Sampling{});
  const auto runtime = make_runtime({.backend = "cpu"});
  const auto executable = runtime->compile(step);
  Arrays arguments;
  for (const ProgramValue& input : step.inputs)
    arguments.push_back(runtime->make_array(HostTensor(input.type), {}, {}));
  for (auto _ : state) {
    Arrays next = executable->execute(arguments);
    next.back()->wait();
    std::ranges::move(next, arguments.end() - static_cast<std::ptrdiff_t>(next.size()));
  }
  const MemoryStats memory = executable->memory().value_or(MemoryStats{});
  const auto mb = [](int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  state.counters["cache_mb"] = mb(memory.alias_bytes);
  state.counters["temporary_mb"] = mb(memory.temporary_bytes);
}

const TransformerLayer::Config kLayer = {
    .attention =
        PreNorm::Config{
            .body = Attention::Config{.num_heads = 4, .num_kv_heads = 4, .qkv = RoPE::Config{}}},
    .feed_forward =
        PreNorm::Config{.body = FeedForward::Config{.gate = Linear::Config{.bias = false}}}};
const Child<Block> kUnrolled = Stacked::Config{.num_layers = 4, .layer = kLayer},
                   kLoop = Repeat::Config{.num_layers = 4, .layer = kLayer};

BENCHMARK_CAPTURE(decode_step, unrolled_f32, kUnrolled, std::nullopt)
    ->Arg(1024)
    ->Arg(8192)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode_step, loop_f32, kLoop, std::nullopt)
    ->Arg(1024)
    ->Arg(8192)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode_step, loop_bf16, kLoop, DType::kBF16)
    ->Arg(1024)
    ->Arg(8192)
    ->Unit(benchmark::kMillisecond);

}  // namespace
