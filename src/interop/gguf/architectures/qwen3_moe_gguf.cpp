// Qwen3 with experts. llama.cpp scales the weights of the chosen experts to a sum of 1.
#include <fmt/format.h>

#include "base/error.h"
#include "interop/gguf/llama_like_gguf.h"

namespace axle {
namespace {

nlohmann::ordered_json qwen3_moe_fields(const GgufKeys& keys) {
  nlohmann::ordered_json out = llama_like_fields(keys, "qwen3_moe");
  out["attention_bias"] = keys.has_tensor("blk.0.attn_q.bias");
  add_experts(keys, out);
  out["moe_intermediate_size"] = keys.size("expert_feed_forward_length");
  out["norm_topk_prob"] = true;
  return out;
}

std::vector<GgufName> qwen3_moe_names() {
  std::vector<GgufName> out = llama_like_names();
  out.insert(
      out.end(),
      {{"blk.{layer}.ffn_gate_inp", "model.layers.{layer}.mlp.gate"},
       {"blk.{layer}.ffn_gate_exps", "model.layers.{layer}.mlp.experts.{expert}.gate_proj"},
       {"blk.{layer}.ffn_up_exps", "model.layers.{layer}.mlp.experts.{expert}.up_proj"},
       {"blk.{layer}.ffn_down_exps", "model.layers.{layer}.mlp.experts.{expert}.down_proj"}});
  return out;
}

void write_qwen3_moe(const ForeignConfig& config, GgufKeyWriter& keys) {
  if (!config.whole_numbers("mlp_only_layers").empty() ||
      config.size("decoder_sparse_step", 1) > 1) {
    throw ConfigError(
        fmt::format("{}: expected experts in all layers, as GGUF has them, got "
                    "layers without experts",
                    config.where()));
  }
  write_llama_like(config, {}, keys);
  write_expert_keys(config, keys);
  keys.size("expert_feed_forward_length", config.size("moe_intermediate_size"));
}

const GgufArchitectureRow qwen3_moe_row({.name = "qwen3moe",
                                         .fields = qwen3_moe_fields,
                                         .names = qwen3_moe_names,
                                         .families = {"qwen3_moe"},
                                         .write = write_qwen3_moe});

}  // namespace
}  // namespace axle
