// GPT-2.
#include "interop/gguf/llama_like_gguf.h"

namespace axle {
namespace {

nlohmann::ordered_json gpt2_fields(const GgufKeys& keys) {
  keys.expect("attention.causal", true);
  return {{"model_type", "gpt2"},
          {"n_embd", keys.size("embedding_length")},
          {"n_layer", num_layers_of(keys)},
          {"n_head", keys.size("attention.head_count")},
          {"n_inner", keys.size("feed_forward_length")},
          {"n_positions", keys.size("context_length")},
          {"layer_norm_epsilon", keys.number("attention.layer_norm_epsilon")},
          {"activation_function", "gelu_new"},
          {"vocab_size", vocab_size_of(keys)},
          {"tie_word_embeddings", is_head_tied(keys)}};
}

std::vector<GgufName> gpt2_names() {
  constexpr auto kTransposed = TensorChange::kTransposed;
  return {{"token_embd", "transformer.wte"},
          {"position_embd", "transformer.wpe"},
          {"output_norm", "transformer.ln_f"},
          {"output", "lm_head"},
          {"blk.{layer}.attn_norm", "transformer.h.{layer}.ln_1"},
          {"blk.{layer}.attn_qkv", "transformer.h.{layer}.attn.c_attn", kTransposed},
          {"blk.{layer}.attn_output", "transformer.h.{layer}.attn.c_proj", kTransposed},
          {"blk.{layer}.ffn_norm", "transformer.h.{layer}.ln_2"},
          {"blk.{layer}.ffn_up", "transformer.h.{layer}.mlp.c_fc", kTransposed},
          {"blk.{layer}.ffn_down", "transformer.h.{layer}.mlp.c_proj", kTransposed}};
}

void write_gpt2(const ForeignConfig& config, GgufKeyWriter& keys) {
  const int64_t model_dim = config.size("n_embd");
  keys.size("block_count", config.size("n_layer"));
  keys.size("context_length", config.size("n_positions"));
  keys.size("embedding_length", model_dim);
  keys.size("feed_forward_length", config.size("n_inner", 4 * model_dim));
  keys.size("attention.head_count", config.size("n_head"));
  keys.number("attention.layer_norm_epsilon", config.number("layer_norm_epsilon", 1e-5));
  keys.size("vocab_size", config.size("vocab_size"));
}

const GgufArchitectureRow gpt2_architecture({.name = "gpt2",
                                             .fields = gpt2_fields,
                                             .names = gpt2_names,
                                             .families = {"gpt2"},
                                             .write = write_gpt2});

}  // namespace
}  // namespace axle
