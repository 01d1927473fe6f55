#include "interop/gguf/llama_like_gguf.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "interop/families/llama_like.h"
#include "interop/gguf/gguf_architecture.h"

namespace axle {
namespace {

int64_t head_dim_of(const GgufKeys& keys) {
  const int64_t model_dim = keys.size("embedding_length"),
                num_heads = keys.size("attention.head_count");
  if (const auto key_length = keys.find("attention.key_length")) {
    const int64_t out = keys.size("attention.key_length");
    if (keys.size("attention.value_length", out) != out)
      keys.at("attention.value_length").fail("the key_length of the same heads");
    return out;
  }
  if (model_dim % num_heads != 0)
    keys.at("attention.head_count").fail(fmt::format("a divisor of {}", model_dim));
  return keys.size("attention.value_length", model_dim / num_heads);
}

}  // namespace

int64_t num_layers_of(const GgufKeys& keys) {
  const int64_t out = keys.size("block_count");
  // Whatever has as many parts as layers is made after this.
  const std::string last = fmt::format("blk.{}.attn_norm.weight", out - 1);
  if (!keys.has_tensor(last) &&
      !keys.has_tensor(fmt::format("blk.{}.post_attention_norm.weight", out - 1)))
    keys.at("block_count").fail(fmt::format("the number of layers, with a tensor {}", last));
  return out;
}

int64_t vocab_size_of(const GgufKeys& keys) {
  const Shape& shape = keys.shape("token_embd.weight");
  if (shape.size() != 2) {
    throw DataError(fmt::format("{}: token_embd.weight: expected a matrix, got {}", keys.where(),
                                to_text(shape)));
  }
  if (keys.size("vocab_size", shape[0]) != shape[0])
    keys.at("vocab_size").fail(fmt::format("{}, the rows of token_embd.weight", shape[0]));
  return shape[0];
}

bool is_head_tied(const GgufKeys& keys) { return !keys.has_tensor("output.weight"); }

nlohmann::ordered_json llama_like_fields(const GgufKeys& keys, std::string_view model_type) {
  const int64_t num_heads = keys.size("attention.head_count"), head_dim = head_dim_of(keys);
  keys.ignore({"rope.scaling.finetuned"});
  keys.expect("attention.causal", true);
  return {{"model_type", model_type},
          {"hidden_size", keys.size("embedding_length")},
          {"num_hidden_layers", num_layers_of(keys)},
          {"num_attention_heads", num_heads},
          {"num_key_value_heads", keys.size("attention.head_count_kv", num_heads)},
          {"head_dim", head_dim},
          {"intermediate_size", keys.size("feed_forward_length")},
          {"rms_norm_eps", keys.number("attention.layer_norm_rms_epsilon")},
          {"max_position_embeddings", keys.size("context_length")},
          {"vocab_size", vocab_size_of(keys)},
          {"tie_word_embeddings", is_head_tied(keys)},
          {"rope_parameters", rope_fields(keys, head_dim)}};
}

std::vector<GgufName> llama_like_names() {
  return {{"token_embd", "model.embed_tokens"},
          {"output_norm", "model.norm"},
          {"output", "lm_head"},
          {"blk.{layer}.attn_norm", "model.layers.{layer}.input_layernorm"},
          {"blk.{layer}.attn_q", "model.layers.{layer}.self_attn.q_proj"},
          {"blk.{layer}.attn_k", "model.layers.{layer}.self_attn.k_proj"},
          {"blk.{layer}.attn_v", "model.layers.{layer}.self_attn.v_proj"},
          {"blk.{layer}.attn_q_norm", "model.layers.{layer}.self_attn.q_norm"},
          {"blk.{layer}.attn_k_norm", "model.layers.{layer}.self_attn.k_norm"},
          {"blk.{layer}.attn_output", "model.layers.{layer}.self_attn.o_proj"},
          {"blk.{layer}.ffn_norm", "model.layers.{layer}.post_attention_layernorm"},
          {"blk.{layer}.ffn_gate", "model.layers.{layer}.mlp.gate_proj"},
          {"blk.{layer}.ffn_up", "model.layers.{layer}.mlp.up_proj"},
          {"blk.{layer}.ffn_down", "model.layers.{layer}.mlp.down_proj"}};
}

void add_experts(const GgufKeys& keys, nlohmann::ordered_json& fields) {
  constexpr int64_t kMostExperts = 65536;  // each has tensors of its own
  const int64_t num_experts = keys.size("expert_count");
  for (int64_t layer = 0; layer < num_layers_of(keys); ++layer) {
    const std::string name = fmt::format("blk.{}.ffn_gate_exps.weight", layer);
    const Shape& shape = keys.shape(name);
    if (num_elements(shape) == 0 || shape[0] != num_experts)
      keys.at("expert_count").fail(fmt::format("the first dim of {}, {}", name, to_text(shape)));
  }
  if (num_experts > kMostExperts)
    keys.at("expert_count").fail(fmt::format("at most {}", kMostExperts));
  keys.expect("expert_gating_func", 1.0);  // softmax
  keys.expect("expert_weights_norm", true);
  keys.expect("expert_weights_scale", 1.0);
  fields["num_local_experts"] = num_experts;
  fields["num_experts_per_tok"] = keys.size("expert_used_count");
}

int64_t head_dim_of(const ForeignConfig& config) {
  return config.size("head_dim", config.size("hidden_size") / config.size("num_attention_heads"));
}

void write_llama_like(const ForeignConfig& config, const RopeAbilities& abilities,
                      GgufKeyWriter& keys) {
  const int64_t num_heads = config.size("num_attention_heads"), head_dim = head_dim_of(config);
  keys.size("block_count", config.size("num_hidden_layers"));
  keys.size("context_length", config.size("max_position_embeddings"));
  keys.size("embedding_length", config.size("hidden_size"));
  keys.size("feed_forward_length", config.size("intermediate_size"));
  keys.size("attention.head_count", num_heads);
  keys.size("attention.head_count_kv", config.size("num_key_value_heads", num_heads));
  keys.size("attention.key_length", head_dim);
  keys.size("attention.value_length", head_dim);
  keys.number("attention.layer_norm_rms_epsilon", config.number("rms_norm_eps", 1e-6));
  keys.size("vocab_size", config.size("vocab_size"));
  const bool has_types =
      config.group("rope_parameters") && config.group("rope_parameters")->has("full_attention");
  write_rope_keys(rope_of(config, has_types ? "full_attention" : ""), head_dim, abilities, keys);
}

void write_expert_keys(const ForeignConfig& config, GgufKeyWriter& keys) {
  keys.size("expert_count", config.size("num_local_experts", config.size("num_experts", 1)));
  keys.size("expert_used_count", config.size("num_experts_per_tok"));
}

// Llama, and what llama.cpp converts to it: SmolLM, Mistral, Mixtral and others.

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

const GgufArchitectureRow llama_architecture({.name = "llama",
                                              .fields = llama_fields,
                                              .names = llama_names,
                                              .families = {"llama", "mistral", "mixtral"},
                                              .write = write_llama});

// Qwen2 and Qwen2.5.

nlohmann::ordered_json qwen2_fields(const GgufKeys& keys) {
  return llama_like_fields(keys, "qwen2");
}

void write_qwen2(const ForeignConfig& config, GgufKeyWriter& keys) {
  write_llama_like(config, {}, keys);
}

const GgufArchitectureRow qwen2_architecture({.name = "qwen2",
                                              .fields = qwen2_fields,
                                              .names = llama_like_names,
                                              .families = {"qwen2"},
                                              .write = write_qwen2});

// Qwen3.

nlohmann::ordered_json qwen3_fields(const GgufKeys& keys) {
  nlohmann::ordered_json out = llama_like_fields(keys, "qwen3");
  out["attention_bias"] = keys.has_tensor("blk.0.attn_q.bias");
  return out;
}

void write_qwen3(const ForeignConfig& config, GgufKeyWriter& keys) {
  write_llama_like(config, {}, keys);
}

const GgufArchitectureRow qwen3_architecture({.name = "qwen3",
                                              .fields = qwen3_fields,
                                              .names = llama_like_names,
                                              .families = {"qwen3"},
                                              .write = write_qwen3});

// OLMo 2.

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

const GgufArchitectureRow olmo2_architecture({.name = "olmo2",
                                              .fields = olmo2_fields,
                                              .names = olmo2_names,
                                              .families = {"olmo2"},
                                              .write = write_olmo2});

// Phi-3 and Phi-4.

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
  write_llama_like(config,
                   {.divisors = {"rope_factors_long.weight", "rope_factors_short.weight"},
                    .rotates_parts = true},
                   keys);
  keys.size("attention.sliding_window", config.optional_size("sliding_window").value_or(0));
}

const GgufArchitectureRow phi3_architecture({.name = "phi3",
                                             .fields = phi3_fields,
                                             .names = phi3_names,
                                             .families = {"phi3"},
                                             .write = write_phi3});

// Qwen3 with experts. llama.cpp scales the weights of the chosen experts to a sum of 1.

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

const GgufArchitectureRow qwen3_moe_architecture({.name = "qwen3moe",
                                                  .fields = qwen3_moe_fields,
                                                  .names = qwen3_moe_names,
                                                  .families = {"qwen3_moe"},
                                                  .write = write_qwen3_moe});

}  // namespace

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
