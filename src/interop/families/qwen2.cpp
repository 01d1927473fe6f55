// Qwen2 and Qwen2.5: a Llama with biases of queries, keys and values.
//
// Source: Yang et al. 2024, arXiv 2407.10671, section 2.2; Yang et al. 2024, arXiv 2412.15115.
#include "interop/families/qwen_like.h"

namespace axle {
namespace {

Child<Model> qwen2(const ForeignConfig& config) {
  return qwen_like(config, {.defaults = {.num_kv_heads = 32}, .qkv_bias = true});
}

const FamilyRow qwen2_row({.model_type = "qwen2",
                           .model = qwen2,
                           .weights = qwen_weights,
                           .architecture = "Qwen2ForCausalLM",
                           .fields = qwen_fields});

}  // namespace
}  // namespace axle
