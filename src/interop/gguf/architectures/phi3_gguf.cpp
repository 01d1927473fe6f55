// Phi-3 and Phi-4.
#include "interop/gguf/llama_like_gguf.h"

namespace axle {
namespace {

nlohmann::ordered_json phi3_fields(const GgufKeys& keys) {
  nlohmann::ordered_json out = llama_like_fields(keys, "phi3");
  if (const auto window = keys.count("attention.sliding_window")) out["sliding_window"] = *window;
  return out;
}

// One tensor for queries, keys and values, and one for gate and hidden layer.
std::vector<GgufName> phi3_names() {
  std::vector<GgufName> out = llama_like_names();
  std::erase_if(out, [](const GgufName& row) { return row.gguf == "blk.{layer}.ffn_up"; });
  out.insert(out.end(), {{"blk.{layer}.attn_qkv", "model.layers.{layer}.self_attn.qkv_proj"},
                         {"blk.{layer}.ffn_up", "model.layers.{layer}.mlp.gate_up_proj"}});
  return out;
}

// llama.cpp takes no notice of the window, so a text beyond it differs there. 0 is none.
void write_phi3(const ForeignConfig& config, GgufKeyWriter& keys) {
  write_llama_like(
      config,
      {.divisors = {"rope_factors_long.weight", "rope_factors_short.weight"}, .turns_parts = true},
      keys);
  keys.size("attention.sliding_window", config.optional_size("sliding_window").value_or(0));
}

const GgufArchitectureRow phi3_row({.name = "phi3",
                                    .fields = phi3_fields,
                                    .names = phi3_names,
                                    .families = {"phi3"},
                                    .write = write_phi3});

}  // namespace
}  // namespace axle
