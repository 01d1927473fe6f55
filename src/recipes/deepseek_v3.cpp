// DeepSeek-V3: latent attention, and experts whose loads a bias balances. The recipes with "-mtp"
// add the module that predicts one more token, as the model was trained.
//
// Source: DeepSeek-AI 2024, arXiv 2412.19437, sections 2, 3.2 and 4.2, and the model card: 61
//   layers, 671,026,419,200 numbers, of which 14,848 are the biases of routers (state, not
//   parameters). The published batch grows from 3,072 to 15,360 rows in the first 469 billion
//   tokens; here it has its last size.
#include "config/register.h"
#include "config/replace.h"
#include "layers/attention/latent_attention.h"
#include "layers/blocks/stack.h"
#include "layers/experts/linear_routers.h"
#include "layers/experts/moe.h"
#include "layers/models/causal_lm.h"
#include "layers/models/multi_token_lm.h"
#include "learn/schedules/schedules.h"
#include "modifiers/mesh_modifiers.h"
#include "recipes/language_model.h"
#include "train/modifiers/run_modifiers.h"

namespace axle {
namespace {

const Child<Norm> kNorm = RMSNorm::Config{.eps = 1e-6f};

struct DeepSeekSize {
  LatentAttention::Config attention;
  int64_t num_dense_layers, dense_dim;
  int64_t num_expert_layers, num_experts, expert_dim;
  BalancedRouter::Config router;
};

FeedForward::Config gated(int64_t hidden_dim) {
  return {.hidden_dim = FixedDim{.dim = hidden_dim}, .gate = Linear::Config{.bias = false}};
}

Child<Block> deepseek_layer(LatentAttention::Config attention, Child<Mixer> feed_forward) {
  attention.query_down = Linear::Config{.bias = false};
  attention.query_norm = attention.kv_norm = kNorm;
  Child<Block> out = TransformerLayer::Config{
      .attention = PreNorm::Config{.norm = kNorm, .body = std::move(attention)},
      .feed_forward = PreNorm::Config{.norm = kNorm, .body = std::move(feed_forward)}};
  // The backward pass computes keys and values from the small vectors again.
  out.options.remat = save("query_down", "kv_down", "attention_output");
  return out;
}
Child<Block> repeated(int64_t num_layers, const LatentAttention::Config& attention,
                      Child<Mixer> feed_forward) {
  return Repeat::Config{.num_layers = num_layers,
                        .layer = deepseek_layer(attention, std::move(feed_forward))};
}

MoE::Config experts(const DeepSeekSize& s) {
  return {.num_experts = s.num_experts,
          .router = s.router,
          .hidden_dim = FixedDim{.dim = s.expert_dim},
          .gate = Linear::Config{.bias = false},
          .shared = gated(s.expert_dim)};
}

// The first layers are dense.
Child<Block> deepseek_layers(const DeepSeekSize& s) {
  return Stacked::Config{.num_layers = 2,
                         .layer = {},
                         .layers = {repeated(s.num_dense_layers, s.attention, gated(s.dense_dim)),
                                    repeated(s.num_expert_layers, s.attention, experts(s))}};
}

// Adds one module for the token after the next one. Its layer is one with experts. The published
// weight of its loss is 0.3 for the first 10 trillion tokens, then 0.1: a run that goes on from
// there sets model.mtp_scale.
Trainer::Config with_mtp(Trainer::Config cfg, const DeepSeekSize& s) {
  const SequentialMtpHead::Config head{
      .hidden_norm = kNorm, .token_norm = kNorm, .layer = deepseek_layer(s.attention, experts(s))};
  replace_config<CausalLM>(
      cfg, MultiTokenLM::Config{.mtp_head = head, .mtp_norm = kNorm, .mtp_scale = 0.3});
  return cfg;
}

const DeepSeekSize k671B = {.attention = {.num_heads = 128, .query_rank = 1536},
                            .num_dense_layers = 3,
                            .dense_dim = 18432,
                            .num_expert_layers = 58,
                            .num_experts = 256,
                            .expert_dim = 2048,
                            .router = {.num_expert_groups = 8, .top_groups = 4}};

// The published cluster has 2048 H800: 64-way expert parallelism over 8 nodes, 16 pipeline stages,
// data parallelism. 58 layers with experts form no 16 equal stages, so the mesh shards parameters
// over `fsdp` and positions over `seq` as well. Two devices share one row of a microbatch: a device
// must have room for the choices of 64 devices (docs/experts.md).
MeshRule cluster_rule() {
  constexpr int64_t kMicrobatches = 15;
  return {.machine = "gpu-(H100|H200)-2048",
          .modifiers = {mesh({{.name = "data", .size = -1},
                              {.name = "expert", .size = 64},
                              {.name = "fsdp", .size = 4},
                              {.name = "seq", .size = 2}}),
                        GradientAccumulation::Config{.microbatches = kMicrobatches}}};
}

Trainer::Config deepseek_v3_671B() {
  constexpr int64_t kSeqLen = 4096, kRows = 15'360;
  // Steps of batches that make up this many billion tokens.
  constexpr auto steps = [](int64_t billions) {
    return billions * 1'000'000'000 / (kRows * kSeqLen);
  };
  const Init init = Gaussian{.std = 0.006};
  const CosineWithWarmup cosine{.peak = 2.2e-4,
                                .warmup_steps = 2000,
                                .max_step = steps(14'300),
                                .alpha = 0.1,
                                .decay_begin_step = steps(10'000)};
  return language_model({
      .decoder = {.model_dim = 7168,
                  .vocab_size = 129280,
                  .max_seq_len = kSeqLen,
                  .emb = Embedding::Config{.init = init},
                  .layers = deepseek_layers(k671B),
                  .lm_head = LmHead::Config{}},
      .output_norm = kNorm,
      .init = init,
      .learner = {.max_step = steps(14'800),
                  .undecayed = kScalesAndBiases,
                  .optimizer =
                      AdamW::Config{
                          .learning_rate =
                              Stepwise{.stages = {{.begin_step = 0, .schedule = cosine},
                                                  {.begin_step = steps(14'633),
                                                   .schedule = ConstantRate{.value = 7.3e-6}}}},
                          .weight_decay = 0.1}},
      .tokens_per_batch = kRows * kSeqLen,
      .seq_len = kSeqLen,
      .mesh = {.axes = {{.name = "expert", .size = 64}, {.name = "fsdp", .size = -1}}},
      .mesh_rules = {cluster_rule(), cpu_rule()},
  });
}
AXLE_REGISTER(deepseek_v3_671B, "deepseek-v3-671B")

Trainer::Config deepseek_v3_671B_mtp() { return with_mtp(deepseek_v3_671B(), k671B); }
AXLE_REGISTER(deepseek_v3_671B_mtp, "deepseek-v3-671B-mtp")

// The same at a size that learns in a minute on two cores.
const DeepSeekSize kTest = {.attention = {.num_heads = 4,
                                          .query_rank = 48,
                                          .kv_rank = 32,
                                          .nope_dim = 16,
                                          .rope_dim = 8,
                                          .value_dim = 16},
                            .num_dense_layers = 1,
                            .dense_dim = 192,
                            .num_expert_layers = 2,
                            .num_experts = 8,
                            .expert_dim = 48,
                            .router = {.top_k = 2, .num_expert_groups = 4, .top_groups = 2}};

Trainer::Config deepseek_v3_test() {
  return byte_model(
      {.model_dim = 64, .layers = deepseek_layers(kTest), .undecayed = kScalesAndBiases});
}
AXLE_REGISTER(deepseek_v3_test, "deepseek-v3-test")

Trainer::Config deepseek_v3_test_mtp() { return with_mtp(deepseek_v3_test(), kTest); }
AXLE_REGISTER(deepseek_v3_test_mtp, "deepseek-v3-test-mtp")

}  // namespace
}  // namespace axle
