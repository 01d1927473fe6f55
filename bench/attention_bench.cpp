// Times forward and backward of the softmax core of attention and prints one line of JSON.
// bench/attention.py runs it beside JAX.
//
//   attention_bench --tokens T [--rows B] [--heads N] [--kv-heads K] [--head-dim H] [--bf16]
//                   [--blocks QUERIESxKEYS | --plain] [--window W | --full] [--steps N]
//                   [--backend NAME]
#include <fmt/format.h>

#include <cstdio>

#include "layers/attention/cores/scored_core.h"
#include "layers/attention/masks/attention_mask.h"
#include "nn/functional.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"
#include "peer_values.h"
#include "time_gradients.h"

namespace axle {
namespace {

struct Flags {
  int64_t tokens = 1024, rows = 1, heads = 8, kv_heads = 8, head_dim = 64, steps = 5;
  int64_t window = 0;  // 0: causal
  std::string blocks, backend = "cpu";
  bool bf16 = false, plain = false, full = false;
};

SoftmaxAttention::Config core_config(const Flags& flags) {
  SoftmaxAttention::Config out;
  if (flags.plain) out.blocks.from.reset();
  if (!flags.blocks.empty()) {
    long long queries = 0, keys = 0;
    if (std::sscanf(flags.blocks.c_str(), "%lldx%lld", &queries, &keys) != 2)
      throw ConfigError("--blocks: expected QUERIESxKEYS, got " + flags.blocks);
    out.blocks = {.from = 1, .queries = queries, .keys = keys};
  }
  return out;
}

void run(const Flags& flags) {
  const DType dtype = flags.bf16 ? DType::kBF16 : DType::kF32;
  const auto core = Child<AttentionCore>(core_config(flags))
                        .build({.num_heads = flags.heads, .head_dim = flags.head_dim}, Scope{});
  const CausalMask::Config causal;
  const SlidingWindowMask::Config window{.window = std::max<int64_t>(flags.window, 1)};
  const auto mask = (flags.window ? Child<AttentionMask>(window) : Child<AttentionMask>(causal))
                        .build({}, Scope{});

  // The mean square of the result stands for what comes after the core.
  const auto loss = [&](const Values& x) {
    const KeyValues keys{.k_BSKH = x[1], .v_BSKH = x[2]};
    Visibility visibility = Visibility::of(flags.tokens, keys, {}, false);
    if (!flags.full) visibility.mask = mask.get();
    const Tensor y = functional(*core, {}, {.summaries = false}, [&] {
                       return (*core)(x[0], keys, visibility);
                     }).first;
    return Values{mean(square(astype(y, DType::kF32)))};
  };
  std::vector<HostTensor> arguments;
  for (const int64_t heads : {flags.heads, flags.kv_heads, flags.kv_heads}) {
    const auto leaf = static_cast<uint32_t>(arguments.size());
    arguments.push_back(
        uniform(leaf, {flags.rows, flags.tokens, heads, flags.head_dim}, 1).astype(dtype));
  }
  nlohmann::ordered_json out = {{"peer", "axle"}};
  out.update(time_gradients("attention", loss, arguments, flags.steps, flags.backend));
  fmt::print("{}\n", out.dump());
}

}  // namespace
}  // namespace axle

int main(int argc, char** argv) {
  axle::Flags flags;
  CLI::App app("Forward and backward of a softmax core, timed.", "attention_bench");
  app.add_option("--tokens", flags.tokens)->check(CLI::PositiveNumber);
  app.add_option("--rows", flags.rows)->check(CLI::PositiveNumber);
  app.add_option("--heads", flags.heads)->check(CLI::PositiveNumber);
  app.add_option("--kv-heads", flags.kv_heads)->check(CLI::PositiveNumber);
  app.add_option("--head-dim", flags.head_dim)->check(CLI::PositiveNumber);
  app.add_option("--steps", flags.steps)->check(CLI::PositiveNumber);
  app.add_option("--window", flags.window, "keys that a query sees before itself; 0: all");
  app.add_option("--blocks", flags.blocks, "QUERIESxKEYS of a block; default: as the core decides");
  app.add_option("--backend", flags.backend);
  app.add_flag("--bf16", flags.bf16);
  app.add_flag("--full", flags.full, "every query sees every key");
  app.add_flag("--plain", flags.plain, "all scores at once");
  return axle::bench_main(app, argc, argv, [&] { axle::run(flags); });
}
