#include "interop/gguf/gemma_like_gguf.h"

namespace axle {

std::vector<GgufName> gemma_names() {
  std::vector<GgufName> out = llama_like_names();
  for (GgufName& row : out) {
    if (row.gguf == "blk.{layer}.ffn_norm")
      row.foreign = "model.layers.{layer}.pre_feedforward_layernorm";
  }
  out.insert(out.end(),
             {{"blk.{layer}.post_attention_norm", "model.layers.{layer}.post_attention_layernorm"},
              {"blk.{layer}.post_ffw_norm", "model.layers.{layer}.post_feedforward_layernorm"}});
  for (GgufName& row : out)
    if (row.gguf.ends_with("_norm")) row.change = TensorChange::kOneAdded;
  return out;
}

int64_t scaled_dim_of(const GgufKeys& keys, const nlohmann::ordered_json& fields,
                      int64_t layers_of_largest) {
  return num_layers_of(keys) == layers_of_largest
             ? keys.size("embedding_length") / keys.size("attention.head_count")
             : fields["head_dim"].get<int64_t>();
}

}  // namespace axle
