#include "recipes/axlearn/family.h"

#include <algorithm>

#include "layers/blocks/hybrid_norm.h"
#include "layers/blocks/pre_norm.h"
#include "layers/mesh_axes.h"
#include "layers/norms/rms_norm.h"

namespace axle {

Child<TokenEmbedding> sharded_embedding() {
  LayerOptions options;
  options.partition = PartitionSpec{{kModelDimAxes, kShardAxes}};
  return Child<TokenEmbedding>(Embedding::Config{}, options);
}

Child<Norm> norm_of_family() { return RMSNorm::Config{.eps = 1e-5f}; }

Attention::Config normed_attention(int64_t num_heads, Child<QKV> qkv) {
  return {.num_heads = num_heads,
          .qkv = std::move(qkv),
          .query_norm = norm_of_family(),
          .key_norm = norm_of_family()};
}

Child<Block> prenorm(Child<Mixer> body) {
  return PreNorm::Config{.norm = norm_of_family(), .body = std::move(body)};
}

Child<Block> hybridnorm(Child<Mixer> body) {
  return HybridNorm::Config{
      .norm = norm_of_family(), .body = std::move(body), .post_norm = norm_of_family()};
}

double MupSimple::linear_lr() const {
  return peak_lr * std::min(768 / static_cast<double>(model_dim), 1.0);
}

std::vector<std::string> MupSimple::linear_layers() {
  return {"**.attention.body.qkv.**.weight", "**.attention.body.output.weight",
          "**.feed_forward.body.gate.weight", "**.feed_forward.body.up.weight",
          "**.feed_forward.body.down.weight"};
}

CosineWithWarmup MupSimple::update_schedule() const {
  return {.peak = 1, .warmup_steps = warmup_steps, .alpha = final_fraction};
}

}  // namespace axle
