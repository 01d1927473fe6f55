// OLMo 2.
#include "interop/gguf/llama_like_gguf.h"

namespace axle {
namespace {

nlohmann::ordered_json olmo2_fields(const GgufKeys& keys) {
  return llama_like_fields(keys, "olmo2");
}

std::vector<GgufName> olmo2_names() {
  std::vector<GgufName> out = llama_like_names();
  std::erase_if(out, [](const GgufName& row) {
    return row.gguf == "blk.{layer}.attn_norm" || row.gguf == "blk.{layer}.ffn_norm";
  });
  out.insert(out.end(),
             {{"blk.{layer}.post_attention_norm", "model.layers.{layer}.post_attention_layernorm"},
              {"blk.{layer}.post_ffw_norm", "model.layers.{layer}.post_feedforward_layernorm"}});
  return out;
}

void write_olmo2(const ForeignConfig& config, GgufKeyWriter& keys) {
  write_llama_like(config, {}, keys);
}

const GgufArchitectureRow olmo2_row({.name = "olmo2",
                                     .fields = olmo2_fields,
                                     .names = olmo2_names,
                                     .families = {"olmo2"},
                                     .write = write_olmo2});

}  // namespace
}  // namespace axle
