#include "interop/gguf/gemma_like_gguf.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "interop/families/llama_like.h"

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

// Gemma 2. Every second layer sees everything, and logits are always capped.

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kLayersOfLargestGemma2 = 46;
constexpr std::string_view kAttentionCap = "attn_logit_softcapping",
                           kCap = "final_logit_softcapping";

Json gemma2_fields(const GgufKeys& keys) {
  Json out = llama_like_fields(keys, "gemma2");
  out["sliding_window"] = keys.size("attention.sliding_window", 4096);
  out["query_pre_attn_scalar"] = scaled_dim_of(keys, out, kLayersOfLargestGemma2);
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

const GgufArchitectureRow gemma2_architecture({.name = "gemma2",
                                               .fields = gemma2_fields,
                                               .names = gemma_names,
                                               .families = {"gemma2"},
                                               .write = write_gemma2});

// Gemma 3, the text model.

constexpr int64_t kLayersOfLargestGemma3 = 62;

// Which layers see a window: a flag for each, or the distance of those that see everything.
Json types_of_layers(const GgufKeys& keys, bool has_window) {
  constexpr const char* kPattern = "attention.sliding_window_pattern";
  const auto num_layers = static_cast<size_t>(num_layers_of(keys));
  const auto pattern = keys.find(kPattern);
  std::vector<bool> flags;
  if (pattern && pattern->is_array()) {
    flags = pattern->booleans();
    if (flags.size() != num_layers) pattern->fail(fmt::format("{} bools", num_layers));
  } else {
    const auto period = static_cast<size_t>(keys.size(kPattern, 6));
    for (size_t layer = 1; layer <= num_layers; ++layer) flags.push_back(layer % period != 0);
  }
  Json out = Json::array();
  for (const bool is_local : flags)
    out.push_back(is_local && has_window ? "sliding_attention" : "full_attention");
  return out;
}

Json gemma3_fields(const GgufKeys& keys) {
  Json out = llama_like_fields(keys, "gemma3_text");
  const auto window = keys.count("attention.sliding_window");
  out["layer_types"] = types_of_layers(keys, window.has_value());
  out["rope_parameters"] = {{"full_attention", out["rope_parameters"]}};
  const double local_theta = keys.number("rope.freq_base_swa", 1e4);
  if (window) {
    out["sliding_window"] = *window;
    out["rope_parameters"]["sliding_attention"] = {{"rope_type", "default"},
                                                   {"rope_theta", local_theta}};
  }
  out["query_pre_attn_scalar"] = scaled_dim_of(keys, out, kLayersOfLargestGemma3);
  out["hidden_activation"] = "gelu_pytorch_tanh";
  if (const double cap = keys.number("final_logit_softcapping", 0); cap != 0)
    out["final_logit_softcapping"] = cap;
  return out;
}

void write_gemma3(const ForeignConfig& config, GgufKeyWriter& keys) {
  write_llama_like(config, {}, keys);
  if (const auto cap = config.optional_number("final_logit_softcapping"))
    keys.number("final_logit_softcapping", *cap);
  std::vector<bool> flags;
  for (const std::string& type : config.texts("layer_types"))
    flags.push_back(type == "sliding_attention");
  if (std::ranges::count(flags, true) == 0) return;
  keys.size("attention.sliding_window", config.size("sliding_window", 4096));
  keys.flags("attention.sliding_window_pattern", flags);
  const bool has_types = config.has("rope_parameters") && !config.has("rope_local_base_freq");
  keys.number("rope.freq_base_swa", has_types ? double{rope_of(config, "sliding_attention").theta}
                                              : config.number("rope_local_base_freq", 1e4));
}

const GgufArchitectureRow gemma3_architecture({.name = "gemma3",
                                               .fields = gemma3_fields,
                                               .names = gemma_names,
                                               .families = {"gemma3_text"},
                                               .write = write_gemma3});

}  // namespace
}  // namespace axle
