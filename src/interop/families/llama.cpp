// Llama 2, 3, 3.1, 3.2 and 3.3, SmolLM, and whatever else calls itself so.
#include "interop/families/llama_like.h"

namespace axle {
namespace {

Child<Model> llama(const ForeignConfig& config) {
  const bool attention_bias = config.flag("attention_bias", false);
  return llama_like(config, {.qkv_bias = attention_bias,
                             .output_bias = attention_bias,
                             .feed_forward_bias = config.flag("mlp_bias", false)});
}

const FamilyRow llama_row({.model_type = "llama", .model = llama, .weights = llama_weights});

}  // namespace
}  // namespace axle
