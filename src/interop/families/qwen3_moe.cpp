// Qwen3 with experts.
//
// Source: Yang et al. 2025, arXiv 2505.09388, section 2.
#include <algorithm>
#include <set>

#include "interop/families/expert_layers.h"
#include "interop/families/qwen_like.h"

namespace axle {
namespace {

// 0: layers without experts; 1: those with them.
LayerKinds kinds_of(const ForeignConfig& config) {
  const int64_t step = config.size("decoder_sparse_step", 1),
                num_layers = config.count("num_hidden_layers");
  const std::vector<int64_t> dense = config.whole_numbers("mlp_only_layers");
  const std::set<int64_t> is_dense(dense.begin(), dense.end());
  std::vector<size_t> out;
  for (int64_t i = 0; i < num_layers; ++i)
    out.push_back((i + 1) % step == 0 && !is_dense.contains(i));
  return LayerKinds(std::move(out));
}

Child<Mixer> experts_in(const ForeignConfig& config) {
  return experts_of(
      config, {.num_experts = config.count("num_experts", config.count("num_local_experts", 128)),
               .hidden_dim = config.size("moe_intermediate_size"),
               .weights = config.flag("norm_topk_prob", false) ? ExpertWeights::kSumToOne
                                                               : ExpertWeights::kScores});
}

Child<Model> qwen3_moe(const ForeignConfig& config) {
  config.ignore({"max_window_layers"});  // a window is that of all layers
  const auto is_full = [](const std::string& type) { return type == "full_attention"; };
  const std::optional<int64_t> window = window_in(config);
  if (!std::ranges::all_of(config.texts("layer_types"), is_full) && !window)
    config.fail("layer_types", "full_attention for all layers, without a window");
  const bool attention_bias = config.flag("attention_bias", false);
  LlamaVariant experts{.defaults = {.num_kv_heads = 4},
                       .qkv_bias = attention_bias,
                       .output_bias = attention_bias,
                       .head_norm = rms_norm_of(config),
                       .window = window,
                       .feed_forward = experts_in(config)};
  const LayerKinds kinds = kinds_of(config);
  config.ignore({"intermediate_size"});  // of layers without experts
  LlamaVariant dense = experts;
  if (kinds.has(0)) dense.feed_forward = {};
  return llama_like(config, kinds, {dense, experts});
}

std::vector<WeightRow> qwen3_moe_weights(const ForeignConfig& config) {
  const std::vector<WeightRow> dense = llama_weights(config);
  return kinds_of(config).rows(
      {dense, with_expert_weights(dense, "mlp",
                                  {.gate = "gate_proj", .up = "up_proj", .down = "down_proj"})});
}

nlohmann::ordered_json qwen3_moe_config(const PlainModel& model) {
  nlohmann::ordered_json out = qwen_fields(model), dense_layers = nlohmann::ordered_json::array();
  std::optional<LayerParts> dense, experts;
  for (const Child<Block>& layer : model.layers) {
    const LayerParts parts = parts_of(layer);
    if (!parts.has_experts) dense_layers.push_back(&layer - model.layers.data());
    auto& first = parts.has_experts ? experts : dense;
    if (!first) first = parts;
  }
  const LayerParts parts = experts.value_or(parts_of(model.layers.front()));
  write_experts(out, parts);
  out["attention_bias"] = parts.qkv_bias;
  out["num_experts"] = int64_t{*parts.experts.num_experts};
  out["moe_intermediate_size"] = width_in(parts.experts.hidden_dim);
  out["intermediate_size"] = dense ? width_in(dense->feed_forward.hidden_dim)
                                   : width_in(parts.experts.hidden_dim);  // no layer is dense
  out["norm_topk_prob"] = parts.router.weights == ExpertWeights::kSumToOne;
  out["decoder_sparse_step"] = 1;
  out["mlp_only_layers"] = std::move(dense_layers);
  out.erase("layer_types");
  return out;
}

const FamilyRow qwen3_moe_row({.model_type = "qwen3_moe",
                               .model = qwen3_moe,
                               .weights = qwen3_moe_weights,
                               .architecture = "Qwen3MoeForCausalLM",
                               .fields = qwen3_moe_config});

}  // namespace
}  // namespace axle
