// Llama 2, 3, 3.1, 3.2 and 3.3, SmolLM, and whatever else calls itself so.
#include "interop/families/llama_like.h"
#include "interop/families/written_fields.h"

namespace axle {
namespace {

Child<Model> llama(const ForeignConfig& config) {
  const bool attention_bias = config.flag("attention_bias", false);
  return llama_like(config, {.qkv_bias = attention_bias,
                             .output_bias = attention_bias,
                             .feed_forward_bias = config.flag("mlp_bias", false)});
}

nlohmann::ordered_json llama_config(const PlainModel& model) {
  const LayerParts parts = parts_of(model.layers.front());
  nlohmann::ordered_json out = llama_fields(model);
  out["attention_bias"] = parts.qkv_bias;
  out["mlp_bias"] = parts.feed_forward_bias;
  return out;
}

const FamilyRow llama_row({.model_type = "llama",
                           .model = llama,
                           .weights = llama_weights,
                           .architecture = "LlamaForCausalLM",
                           .fields = llama_config});

}  // namespace
}  // namespace axle
