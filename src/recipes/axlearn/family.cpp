#include "recipes/axlearn/family.h"

#include <algorithm>

#include "layers/blocks/norm_placements.h"
#include "layers/mesh_axes.h"
#include "recipes/language_model.h"

namespace axle {

Child<TokenEmbedding> sharded_embedding() {
  LayerOptions options;
  options.partition = PartitionSpec{{kModelDimAxes, kShardAxes}};
  return Child<TokenEmbedding>(Embedding::Config{}, options);
}

Attention::Config normed_attention(int64_t num_heads, Child<QKV> qkv) {
  return {.num_heads = num_heads,
          .qkv = std::move(qkv),
          .query_norm = llama_norm(),
          .key_norm = llama_norm()};
}

Child<Block> prenorm(Child<Mixer> body) {
  return PreNorm::Config{.norm = llama_norm(), .body = std::move(body)};
}

Child<Block> hybridnorm(Child<Mixer> body) {
  return HybridNorm::Config{
      .norm = llama_norm(), .body = std::move(body), .post_norm = llama_norm()};
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
