#include "interop/families/gemma_like.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "interop/families/llama_like.h"
#include "interop/families/written_fields.h"
#include "layers/attention/attention.h"
#include "layers/attention/caches/bounded_kv_caches.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/blocks/norm_placements.h"
#include "layers/dense/linear.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/models/causal_lm.h"
#include "layers/norms/norm.h"

namespace axle {
namespace {

// The type of each layer; by default the last one of each period is global.
std::vector<std::string> types_of_layers(const ForeignConfig& config, int64_t period) {
  const int64_t num_layers = config.count("num_hidden_layers");
  std::vector<std::string> out = config.texts("layer_types");
  if (out.empty()) {
    for (int64_t i = 1; i <= num_layers; ++i) out.emplace_back(i % period == 0 ? kGlobal : kLocal);
  }
  const auto is_known = [](const std::string& type) { return type == kLocal || type == kGlobal; };
  if (std::ssize(out) != num_layers || !std::ranges::all_of(out, is_known))
    config.fail("layer_types", fmt::format("{} of {} and {}", num_layers, kLocal, kGlobal));
  return out;
}

// 0: layers that see a window; 1: those that see everything.
LayerKinds kinds_of(const ForeignConfig& config, int64_t period) {
  std::vector<size_t> out;
  for (const std::string& type : types_of_layers(config, period)) out.push_back(type == kGlobal);
  return LayerKinds(std::move(out));
}

Child<Norm> norm_of(const ForeignConfig& config) {
  return RMSNorm::Config{.eps = static_cast<float>(config.number("rms_norm_eps", 1e-6)),
                         .zero_centred = ZeroCentred::kScale};
}

Attention::Config attention_of(const ForeignConfig& config, const GemmaVariant& variant,
                               bool is_local) {
  const int64_t head_dim = config.size("head_dim", 256);
  const HeadInputLinear::Config heads{.bias = config.flag("attention_bias", false)};
  RoPE::Config rope = is_local ? variant.local_rope : variant.global_rope;
  rope.inner = SeparateQKV::Config{.q_proj = heads, .k_proj = heads, .v_proj = heads};
  if (variant.has_head_norms) {
    const Child<Norm> norm = norm_of(config);
    rope.inner =
        NormedQKV::Config{.query_norm = norm, .key_norm = norm, .inner = std::move(rope.inner)};
  }
  SoftmaxAttention::Config core{.scale =
                                    1 / std::sqrt(config.number("query_pre_attn_scalar", 256))};
  if (variant.attention_cap) core.logit_cap = *variant.attention_cap;
  Attention::Config out{.num_heads = config.size("num_attention_heads"),
                        .num_kv_heads = config.size("num_key_value_heads"),
                        .head_dim = head_dim,
                        .qkv = std::move(rope),
                        .output = HeadOutputLinear::Config{.bias = heads.bias},
                        .core = std::move(core)};
  if (is_local) {
    const int64_t window = config.size("sliding_window", 4096) - 1;
    out.mask = SlidingWindowMask::Config{.window = window};
    out.kv_cache = SlidingKVCache::Config{.window = window};
  }
  return out;
}

Child<Block> layer_of(const ForeignConfig& config, const GemmaVariant& variant, bool is_local) {
  const Child<Norm> norm = norm_of(config);
  const Linear::Config linear{.bias = false};
  const FeedForward::Config feed_forward{
      .hidden_dim = FixedDim{.dim = config.size("intermediate_size")},
      .activation = activation_of(config, "hidden_activation", "gelu_pytorch_tanh"),
      .gate = linear,
      .up = linear,
      .down = linear};
  return TransformerLayer::Config{
      .attention =
          HybridNorm::Config{
              .norm = norm, .body = attention_of(config, variant, is_local), .post_norm = norm},
      .feed_forward = HybridNorm::Config{.norm = norm, .body = feed_forward, .post_norm = norm}};
}

// The number whose root divides queries: the whole number with the same factor, if one does.
// transformers takes no other.
nlohmann::ordered_json query_scalar(double factor) {
  const double exact = 1 / (factor * factor), whole = std::round(exact);
  if (1 / std::sqrt(whole) == factor) return static_cast<int64_t>(whole);
  return exact;
}

}  // namespace

Child<Model> gemma_like(const ForeignConfig& config, const GemmaVariant& variant) {
  ignore_common(config);
  config.ignore({"_sliding_window_pattern", "cache_implementation"});
  config.expect("use_bidirectional_attention", false);
  const LayerKinds kinds = kinds_of(config, variant.period);
  Decoder::Config decoder{
      .model_dim = config.size("hidden_size"),
      .vocab_size = config.size("vocab_size"),
      .max_seq_len = config.size("max_position_embeddings"),
      .emb = Embedding::Config{.scale = RootOfDim{}},
      .layers = kinds.stack({layer_of(config, variant, true), layer_of(config, variant, false)}),
      .output_norm = norm_of(config)};
  if (!config.flag("tie_word_embeddings", true)) decoder.lm_head = LmHead::Config{};
  if (variant.logit_cap) decoder.logit_cap = *variant.logit_cap;
  return CausalLM::Config{.decoder = std::move(decoder)};
}

// As in Llama except for the norms.
std::vector<WeightRow> gemma_weights(const ForeignConfig& config, int64_t period) {
  std::vector<WeightRow> rows = llama_weights(config);
  std::erase_if(rows,
                [](const WeightRow& row) { return row.ours.find("/norm/") != row.ours.npos; });
  const WeightRows layer(rows, "decoder/layers/layer/", "model.layers.{layer}.");
  layer.norm("attention/norm", "input_layernorm");
  layer.norm("attention/post_norm", "post_attention_layernorm");
  layer.norm("feed_forward/norm", "pre_feedforward_layernorm");
  layer.norm("feed_forward/post_norm", "post_feedforward_layernorm");
  return kinds_of(config, period).rows({rows, rows});
}

nlohmann::ordered_json gemma_fields(const PlainModel& model) {
  nlohmann::ordered_json out = llama_fields(model), types = nlohmann::ordered_json::array();
  out.erase("hidden_act");
  for (const Child<Block>& layer : model.layers) {
    const LayerParts parts = parts_of(layer);
    types.push_back(parts.window ? kLocal : kGlobal);
    if (parts.window) out["sliding_window"] = *parts.window;
  }
  const LayerParts parts = parts_of(model.layers.front());
  out["layer_types"] = std::move(types);
  out["hidden_activation"] = activation_name(parts.feed_forward.activation);
  out["attention_bias"] = parts.qkv_bias;
  out["attn_logit_softcapping"] = nullptr;
  if (const auto* const core = parts.attention.core.get_if<SoftmaxAttention>()) {
    if (core->scale) out["query_pre_attn_scalar"] = query_scalar(*core->scale);
    if (core->logit_cap) out["attn_logit_softcapping"] = double{*core->logit_cap};
  }
  out["final_logit_softcapping"] = nullptr;
  if (model.decoder.logit_cap) out["final_logit_softcapping"] = double{*model.decoder.logit_cap};
  return out;
}

// Gemma 2: caps of the logits of attention and of the head; every second layer sees everything.
//
// Source: Gemma Team 2024, arXiv 2408.00118, section 2.

namespace {

constexpr int64_t kPeriod = 2;

Child<Model> gemma2(const ForeignConfig& config) {
  config.ignore({"hidden_act"});  // an old name, which stands beside hidden_activation
  const RoPE::Config rope = rope_of(config);
  const auto cap_of = [&](std::string_view key, double fallback) {
    return config.mentions(key) ? config.optional_number(key) : fallback;
  };
  return gemma_like(config, {.period = kPeriod,
                             .has_head_norms = false,
                             .attention_cap = cap_of("attn_logit_softcapping", 50),
                             .logit_cap = cap_of("final_logit_softcapping", 30),
                             .local_rope = rope,
                             .global_rope = rope});
}

std::vector<WeightRow> gemma2_weights(const ForeignConfig& config) {
  return gemma_weights(config, kPeriod);
}

const FamilyRow gemma2_row({.model_type = "gemma2",
                            .model = gemma2,
                            .weights = gemma2_weights,
                            .architecture = "Gemma2ForCausalLM",
                            .fields = gemma_fields});

// Gemma 3, the text model: norms of queries and keys, and rotations that differ between layers with
// a window and those that see everything.
//
// Source: Gemma Team 2025, arXiv 2503.19786, section 2.

// Where a config has none.
constexpr double kLocalTheta = LlamaDefaults().rope_theta, kGlobalTheta = 1e6;

int64_t period_of(const ForeignConfig& config) { return config.size("sliding_window_pattern", 6); }

Child<Model> gemma3(const ForeignConfig& config) {
  const bool has_types = !config.has("rope_local_base_freq") && config.has("rope_parameters");
  RoPE::Config local = rope_of(config, has_types ? kLocal : ""),
               global = rope_of(config, has_types ? kGlobal : "", kGlobalTheta);
  if (!has_types) {
    local.theta = config.number("rope_local_base_freq", kLocalTheta);
    local.frequencies = PlainFrequencies{};
  }
  return gemma_like(config, {.period = period_of(config),
                             .has_head_norms = true,
                             .attention_cap = config.optional_number("attn_logit_softcapping"),
                             .logit_cap = config.optional_number("final_logit_softcapping"),
                             .local_rope = std::move(local),
                             .global_rope = std::move(global)});
}

std::vector<WeightRow> gemma3_weights(const ForeignConfig& config) {
  return gemma_weights(config, period_of(config));
}

nlohmann::ordered_json gemma3_config(const PlainModel& model) {
  nlohmann::ordered_json out = gemma_fields(model);
  for (const Child<Block>& layer : model.layers) {
    const LayerParts parts = parts_of(layer);
    if (parts.window)
      out["rope_local_base_freq"] = double{parts.rope.theta};
    else
      write_rope(out, parts.rope);
  }
  return out;
}

const FamilyRow gemma3_row({.model_type = "gemma3_text",
                            .model = gemma3,
                            .weights = gemma3_weights,
                            .architecture = "Gemma3ForCausalLM",
                            .fields = gemma3_config});

}  // namespace
}  // namespace axle
