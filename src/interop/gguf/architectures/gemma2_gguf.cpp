// Gemma 2. Every second layer sees everything, and logits are always capped.
#include <fmt/format.h>

#include "base/error.h"
#include "interop/gguf/gemma_like_gguf.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kLayersOfLargest = 46;
constexpr std::string_view kAttentionCap = "attn_logit_softcapping",
                           kCap = "final_logit_softcapping";

Json gemma2_fields(const GgufKeys& keys) {
  Json out = llama_like_fields(keys, "gemma2");
  out["sliding_window"] = keys.size("attention.sliding_window", 4096);
  out["query_pre_attn_scalar"] = scaled_dim_of(keys, out, kLayersOfLargest);
  out["hidden_activation"] = "gelu_pytorch_tanh";
  out[kAttentionCap] = keys.number(kAttentionCap, 50);
  out[kCap] = keys.number(kCap, 30);
  return out;
}

void write_gemma2(const ForeignConfig& config, GgufKeyWriter& keys) {
  write_llama_like(config, {}, keys);
  keys.size("attention.sliding_window", config.size("sliding_window", 4096));
  for (const std::string_view key : {kAttentionCap, kCap}) {
    const auto cap = config.optional_number(key);
    if (!cap) {
      throw ConfigError(
          fmt::format("{}: {}: expected a number for GGUF, got none; llama.cpp caps "
                      "the logits of every Gemma 2",
                      config.where(), key));
    }
    keys.number(key, *cap);
  }
}

const GgufArchitectureRow gemma2_row({.name = "gemma2",
                                      .fields = gemma2_fields,
                                      .names = gemma_names,
                                      .families = {"gemma2"},
                                      .write = write_gemma2});

}  // namespace
}  // namespace axle
