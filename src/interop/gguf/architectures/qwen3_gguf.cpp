// Qwen3.
#include "interop/gguf/llama_like_gguf.h"

namespace axle {
namespace {

nlohmann::ordered_json qwen3_fields(const GgufKeys& keys) {
  nlohmann::ordered_json out = llama_like_fields(keys, "qwen3");
  out["attention_bias"] = keys.has_tensor("blk.0.attn_q.bias");
  return out;
}

void write_qwen3(const ForeignConfig& config, GgufKeyWriter& keys) {
  write_llama_like(config, {}, keys);
}

const GgufArchitectureRow qwen3_row({.name = "qwen3",
                                     .fields = qwen3_fields,
                                     .names = llama_like_names,
                                     .families = {"qwen3"},
                                     .write = write_qwen3});

}  // namespace
}  // namespace axle
