#include "interop/families/moe_families.h"

#include <algorithm>
#include <set>

#include "interop/families/qwen_like.h"
#include "interop/families/written_fields.h"
#include "layers/dense/linear.h"
#include "layers/experts/moe.h"

namespace axle {

Child<Mixer> experts_of(const ForeignConfig& config, const ExpertSizes& sizes) {
  const double load_balance = config.number("router_aux_loss_coef", 1e-3);
  config.expect("router_jitter_noise", 0.0);
  return MoE::Config{
      .num_experts = sizes.num_experts,
      .router =
          TopKRouter::Config{
              .top_k = config.size("num_experts_per_tok"),
              .weights = sizes.weights,
              .losses = {.load_balance =
                             config.flag("output_router_logits", false) ? load_balance : 0,
                         .z = 0}},
      .hidden_dim = FixedDim{.dim = sizes.hidden_dim},
      .activation = activation_of(config, "hidden_act"),
      .gate = Linear::Config{.bias = false}};
}

std::vector<WeightRow> with_expert_weights(std::vector<WeightRow> rows, const std::string& module,
                                           const ExpertNames& names) {
  const std::string ours = "decoder/layers/layer/feed_forward/body/",
                    theirs = "model.layers.{layer}." + module + ".";
  std::erase_if(rows, [&](const WeightRow& row) { return row.ours.starts_with(ours); });
  const WeightRows layer(rows, ours, theirs);
  layer.linear("router", "gate", Storage::kTransposed);
  layer.linear("gate", "experts.{expert}." + names.gate, Storage::kTransposed);
  layer.linear("up", "experts.{expert}." + names.up, Storage::kTransposed);
  layer.linear("down", "experts.{expert}." + names.down, Storage::kTransposed);
  return rows;
}

// Mixtral: a Llama whose feed-forward networks are mixtures of experts.
//
// Source: Jiang et al. 2024, arXiv 2401.04088, section 2.

namespace {

Child<Model> mixtral(const ForeignConfig& config) {
  return llama_like(
      config,
      {.defaults = {.rms_norm_eps = 1e-5, .rope_theta = 1e6, .num_kv_heads = 8},
       .window = config.optional_size("sliding_window"),
       .feed_forward = experts_of(config, {.num_experts = config.count("num_local_experts"),
                                           .hidden_dim = config.size("intermediate_size")})});
}

std::vector<WeightRow> mixtral_weights(const ForeignConfig& config) {
  return with_expert_weights(llama_weights(config), "block_sparse_moe",
                             {.gate = "w1", .up = "w3", .down = "w2"});
}

nlohmann::ordered_json mixtral_config(const PlainModel& model) {
  const LayerParts parts = parts_of(model.layers.front());
  nlohmann::ordered_json out = llama_fields(model);
  write_experts(out, parts);
  out["num_local_experts"] = int64_t{*parts.experts.num_experts};
  out["intermediate_size"] = width_in(parts.experts.hidden_dim);
  out["sliding_window"] = or_null(parts.window);
  return out;
}

const FamilyRow mixtral_row({.model_type = "mixtral",
                             .model = mixtral,
                             .weights = mixtral_weights,
                             .architecture = "MixtralForCausalLM",
                             .fields = mixtral_config});

// Qwen3 with experts.
//
// Source: Yang et al. 2025, arXiv 2505.09388, section 2.

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
