// Decoding: tokens per second of one row, and of several at once, with the small Llama of stories.
//
// AXLE_STORIES names the folder with stories260K.bin and tok512.bin (default:
// ../shared/data/stories260K).
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>

#include "infer/generator.h"
#include "interop/llama2c.h"

namespace {

using namespace axle;

std::filesystem::path weights_file() {
  const char* const folder = std::getenv("AXLE_STORIES");
  return std::filesystem::path(folder ? folder : "../shared/data/stories260K") / "stories260K.bin";
}

void decode(benchmark::State& state, const Sampling& sampling) {
  if (!std::filesystem::exists(weights_file()))
    return state.SkipWithError("no stories260K.bin; set AXLE_STORIES");
  const ImportedModel imported = read_llama2c(weights_file());
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

}  // namespace
