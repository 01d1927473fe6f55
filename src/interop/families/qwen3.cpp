// Qwen3: a Llama with norms of queries and keys.
//
// Source: Yang et al. 2025, arXiv 2505.09388, section 2.
#include "interop/families/qwen_like.h"

namespace axle {
namespace {

Child<Model> qwen3(const ForeignConfig& config) {
  const bool attention_bias = config.flag("attention_bias", false);
  return qwen_like(config, {.defaults = {.num_kv_heads = 32, .head_dim = 128},
                            .qkv_bias = attention_bias,
                            .output_bias = attention_bias,
                            .head_norm = rms_norm_of(config)});
}

nlohmann::ordered_json qwen3_config(const PlainModel& model) {
  nlohmann::ordered_json out = qwen_fields(model);
  out["attention_bias"] = parts_of(model.layers.front()).qkv_bias;
  return out;
}

const FamilyRow qwen3_row({.model_type = "qwen3",
                           .model = qwen3,
                           .weights = qwen_weights,
                           .architecture = "Qwen3ForCausalLM",
                           .fields = qwen3_config});

}  // namespace
}  // namespace axle
