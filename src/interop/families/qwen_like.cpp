#include "interop/families/qwen_like.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace axle {
namespace {

constexpr std::string_view kWindow = "sliding_attention", kFull = "full_attention";

// 0: layers whose queries see everything; 1: those with a window.
LayerKinds kinds_of(const ForeignConfig& config) {
  const bool has_window = window_in(config).has_value();
  const int64_t num_layers = config.count("num_hidden_layers"),
                num_full = config.whole_number("max_window_layers", 28);
  std::vector<std::string> types = config.texts("layer_types");
  if (types.empty()) {
    for (int64_t i = 0; i < num_layers; ++i)
      types.emplace_back(has_window && i >= num_full ? kWindow : kFull);
  }
  const auto is_known = [&](const std::string& type) {
    return type == kFull || (has_window && type == kWindow);
  };
  if (std::ssize(types) != num_layers || !std::ranges::all_of(types, is_known)) {
    config.fail("layer_types", has_window
                                   ? fmt::format("{} of {} and {}", num_layers, kFull, kWindow)
                                   : fmt::format("{} of {}, without a window", num_layers, kFull));
  }
  std::vector<size_t> out;
  for (const std::string& type : types) out.push_back(type == kWindow);
  return LayerKinds(std::move(out));
}

}  // namespace

std::optional<int64_t> window_in(const ForeignConfig& config) {
  const auto window = config.optional_size("sliding_window", 4096);
  return config.flag("use_sliding_window", false) ? window : std::nullopt;
}

Child<Model> qwen_like(const ForeignConfig& config, const LlamaVariant& variant) {
  LlamaVariant with_window = variant;
  with_window.window = window_in(config);
  return llama_like(config, kinds_of(config), {variant, with_window});
}

std::vector<WeightRow> qwen_weights(const ForeignConfig& config) {
  const std::vector<WeightRow> rows = llama_weights(config);
  return kinds_of(config).rows({rows, rows});
}

nlohmann::ordered_json qwen_fields(const PlainModel& model) {
  nlohmann::ordered_json out = llama_fields(model), types = nlohmann::ordered_json::array();
  std::optional<int64_t> window;
  size_t num_full = 0;  // before the first window
  for (const Child<Block>& layer : model.layers) {
    const auto own = parts_of(layer).window;
    if (own) window = own;
    if (!window) ++num_full;
    types.push_back(own ? kWindow : kFull);
  }
  out["use_sliding_window"] = window.has_value();
  out["sliding_window"] = or_null(window);
  out["max_window_layers"] = num_full;
  if (window) out["layer_types"] = std::move(types);
  return out;
}

// Qwen2 and Qwen2.5: a Llama with biases of queries, keys and values.
//
// Source: Yang et al. 2024, arXiv 2407.10671, section 2.2; Yang et al. 2024, arXiv 2412.15115.

namespace {

Child<Model> qwen2(const ForeignConfig& config) {
  return qwen_like(config, {.defaults = {.num_kv_heads = 32}, .qkv_bias = true});
}

const FamilyRow qwen2_row({.model_type = "qwen2",
                           .model = qwen2,
                           .weights = qwen_weights,
                           .architecture = "Qwen2ForCausalLM",
                           .fields = qwen_fields});

// Qwen3: a Llama with norms of queries and keys.
//
// Source: Yang et al. 2025, arXiv 2505.09388, section 2.

Child<Model> qwen3(const ForeignConfig& config) {
  const bool attention_bias = config.flag("attention_bias", false);
  return qwen_like(config, {.defaults = {.num_kv_heads = 32, .head_dim = 128},
                            .qkv_bias = attention_bias,
                            .output_bias = attention_bias,
                            .head_norm = rms_norm_of(config)});
}

nlohmann::ordered_json qwen3_config(const PlainModel& model) {
  nlohmann::ordered_json out = qwen_fields(model);
  out["attention_bias"] = parts_of(model.layers.front()).qkv_bias;
  return out;
}

const FamilyRow qwen3_row({.model_type = "qwen3",
                           .model = qwen3,
                           .weights = qwen_weights,
                           .architecture = "Qwen3ForCausalLM",
                           .fields = qwen3_config});

}  // namespace
}  // namespace axle
