// Llama, and what llama.cpp converts to it: SmolLM, Mistral, Mixtral and others.
#include "interop/gguf/llama_like_gguf.h"

namespace axle {
namespace {

nlohmann::ordered_json llama_fields(const GgufKeys& keys) {
  const bool has_experts = keys.count("expert_count").has_value();
  const auto window = keys.count("attention.sliding_window");
  nlohmann::ordered_json out = llama_like_fields(keys, has_experts ? "mixtral"
                                                       : window    ? "mistral"
                                                                   : "llama");
  if (window) out["sliding_window"] = *window;
  if (has_experts) {
    add_experts(keys, out);
  } else if (!window) {
    out["attention_bias"] = keys.has_tensor("blk.0.attn_q.bias");
    out["mlp_bias"] = keys.has_tensor("blk.0.ffn_gate.bias");
  }
  keys.count("expert_used_count");  // 0 without experts
  return out;
}

std::vector<GgufName> llama_names() {
  std::vector<GgufName> out = llama_like_names();
  for (GgufName& row : out) {
    if (row.gguf == "blk.{layer}.attn_q" || row.gguf == "blk.{layer}.attn_k")
      row.change = TensorChange::kNeighbouringPairs;
  }
  out.insert(
      out.end(),
      {{"blk.{layer}.ffn_gate_inp", "model.layers.{layer}.block_sparse_moe.gate"},
       {"blk.{layer}.ffn_gate_exps", "model.layers.{layer}.block_sparse_moe.experts.{expert}.w1"},
       {"blk.{layer}.ffn_down_exps", "model.layers.{layer}.block_sparse_moe.experts.{expert}.w2"},
       {"blk.{layer}.ffn_up_exps", "model.layers.{layer}.block_sparse_moe.experts.{expert}.w3"}});
  return out;
}

// llama.cpp takes no notice of the window, so a text beyond it differs there.
void write_llama(const ForeignConfig& config, GgufKeyWriter& keys) {
  write_llama_like(config, {.divisors = {"rope_freqs.weight"}}, keys);
  if (const auto window = config.optional_size("sliding_window"))
    keys.size("attention.sliding_window", *window);
  if (config.text("model_type", "") == "mixtral") write_expert_keys(config, keys);
}

const GgufArchitectureRow llama_row({.name = "llama",
                                     .fields = llama_fields,
                                     .names = llama_names,
                                     .families = {"llama", "mistral", "mixtral"},
                                     .write = write_llama});

}  // namespace
}  // namespace axle
