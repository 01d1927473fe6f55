// GPT-2: the smallest published model.
//
// Source: Radford et al. 2019, Language models are unsupervised multitask learners, section 2.3.
//   Rates and batch size of a model of this size: Brown et al. 2020, arXiv 2005.14165, table 2.1.
#include "config/register.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "layers/norms/norm.h"
#include "layers/positions/position_embedding.h"
#include "recipes/language_model.h"

namespace axle {
namespace {

Init normal(double deviation) {
  return Init(VarianceScaling{
      .scale = deviation, .fan = Fan::kNone, .distribution = Distribution::kNormal});
}

// The last projection of each residual starts smaller by the root of the number of residuals.
template <class Role, class Config>
Child<Role> last(Config config, int64_t num_layers) {
  LayerOptions options;
  options.init = normal(0.02 / std::sqrt(2.0 * static_cast<double>(num_layers)));
  return Child<Role>(std::move(config), options);
}

Trainer::Config gpt2_124M() {
  constexpr int64_t kLayers = 12, kSeqLen = 1024;
  const Child<Norm> norm = LayerNorm::Config{.eps = 1e-5f};
  const TransformerLayer::Config layer{
      .attention =
          PreNorm::Config{
              .norm = norm,
              .body = Attention::Config{.num_heads = 12,
                                        .qkv = FusedQKV::Config{.bias = true},
                                        .output = last<HeadOutput>(
                                            HeadOutputLinear::Config{.bias = true}, kLayers)}},
      .feed_forward =
          PreNorm::Config{.norm = norm,
                          .body = FeedForward::Config{
                              .activation = {"gelu", &gelu},
                              .up = Linear::Config{.bias = true},
                              .down = last<Projection>(Linear::Config{.bias = true}, kLayers)}}};
  return language_model({
      .decoder = {.model_dim = 768,
                  .vocab_size = 50257,
                  .max_seq_len = kSeqLen,
                  .emb = Embedding::Config{.init = normal(0.02)},
                  .position_emb = LearnedPositions::Config{},
                  .layers = Repeat::Config{.num_layers = kLayers, .layer = layer}},
      .output_norm = norm,
      .init = normal(0.02),
      .learner = {.peak_lr = 6e-4,
                  .warmup_steps = 715,
                  .max_step = 572204,
                  .weight_decay = 0.1,
                  .undecayed = kScalesAndBiases},
      .tokens_per_batch = 512 * kKi,
      .seq_len = kSeqLen,
      .mesh = one_axis("data"),
      .mesh_rules = {cpu_rule()},
  });
}
AXLE_REGISTER(gpt2_124M, "gpt2-124M")

}  // namespace
}  // namespace axle
