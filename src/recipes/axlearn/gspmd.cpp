// The 16B model of GSPMD, as AXLearn publishes it: 64 layers in two stages, for measurements of
// pipelines.
//
// Source: Xu et al. 2021, arXiv 2105.04663, section 5.3 and table 4; apple/axlearn,
//   experiments/text/gpt/gspmd.py. Its published parameters have 8 key/value heads and rotary
//   positions, where the paper has 64 heads of each kind.
#include <fmt/format.h>

#include "config/register.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/pipeline/pipeline.h"
#include "learn/optimizers/adafactor.h"
#include "learn/schedules/schedules.h"
#include "modifiers/mesh_modifiers.h"
#include "nn/remat_policies.h"
#include "recipes/language_model.h"

namespace axle {
namespace {

// The two stages lie on two sides of the slow network.
Mesh gspmd_mesh() {
  Mesh out = all_axes({.pipeline = 2, .data = -1, .model = 8});
  out.axes.front().across = 2;
  return out;
}

Trainer::Config gspmd_16B() {
  constexpr int64_t kSeqLen = 1024;
  const Child<Norm> norm = RMSNorm::Config{.eps = 1e-8f};
  Child<Block> layer = TransformerLayer::Config{
      .attention =
          PreNorm::Config{
              .norm = norm,
              .body = Attention::Config{.num_heads = 64,
                                        .num_kv_heads = 8,
                                        .qkv = RoPE::Config{.theta = 5e5,
                                                            .inner = FusedGroupedQKV::Config{}}}},
      .feed_forward = PreNorm::Config{
          .norm = norm,
          .body = FeedForward::Config{.hidden_dim = ScaledDim{.scale = 4, .multiple_of = 256},
                                      .activation = {"relu", &relu}}}};
  layer.options.remat = kept_projections();
  constexpr int64_t kMicrobatches = 16;  // of the pipeline; they divide the rows of each part
  const auto gpus = [](int64_t num_gpus, int64_t microbatches) {
    return MeshRule{.machine = fmt::format("gpu-[A-Z0-9]+-{}", num_gpus),
                    .modifiers = {SetMesh::Config{.mesh = one_axis("fsdp")},
                                  device_rows(microbatches * kMicrobatches / num_gpus)}};
  };
  Decoder::Config decoder{
      .model_dim = 4096,
      .vocab_size = 32 * kKi,
      .max_seq_len = kSeqLen,
      .layers = Pipeline::Config{
          .num_layers = 64, .num_microbatches = kMicrobatches, .layer = std::move(layer)}};
  decoder.emb.options.partition = PartitionSpec{{"pipeline", "model"}};
  return language_model({
      .decoder = std::move(decoder),
      .output_norm = norm,
      .learner = {.max_step = 100'000,
                  .optimizer =
                      Adafactor::Config{
                          .learning_rate = InverseSqrt{.scale = 1e-3, .warmup_steps = 10'000},
                          .b1 = ConstantRate{.value = 0.9},
                          .b2 = AdafactorDecay{},
                          .max_rms = 5.0,
                          .weight_decay = 1e-3},
                  .clip_global_norm = {}},
      .tokens_per_batch = 512 * kSeqLen,
      .seq_len = kSeqLen,
      .mesh = gspmd_mesh(),
      .mesh_rules = {gpus(1, 1), gpus(8, 2), cpu_rule()},
  });
}
AXLE_REGISTER(gspmd_16B, "gspmd-16B")

}  // namespace
}  // namespace axle
