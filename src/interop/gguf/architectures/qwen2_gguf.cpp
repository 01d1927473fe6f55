// Qwen2 and Qwen2.5.
#include "interop/gguf/llama_like_gguf.h"

namespace axle {
namespace {

nlohmann::ordered_json qwen2_fields(const GgufKeys& keys) {
  return llama_like_fields(keys, "qwen2");
}

void write_qwen2(const ForeignConfig& config, GgufKeyWriter& keys) {
  write_llama_like(config, {}, keys);
}

const GgufArchitectureRow qwen2_row({.name = "qwen2",
                                     .fields = qwen2_fields,
                                     .names = llama_like_names,
                                     .families = {"qwen2"},
                                     .write = write_qwen2});

}  // namespace
}  // namespace axle
