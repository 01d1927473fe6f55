// Qwen3 with experts.
//
// Source: Yang et al. 2025, arXiv 2505.09388, section 2.
#include "interop/families/expert_layers.h"
#include "interop/families/qwen_like.h"

namespace axle {
namespace {

Child<Model> qwen3_moe(const ForeignConfig& config) {
  check_full_attention(config);
  config.expect("decoder_sparse_step", 1);
  config.expect("mlp_only_layers", nlohmann::ordered_json::array());
  config.ignore({"intermediate_size"});  // of layers without experts
  const bool attention_bias = config.flag("attention_bias", false);
  return llama_like(
      config,
      {.defaults = {.num_kv_heads = 4},
       .qkv_bias = attention_bias,
       .output_bias = attention_bias,
       .head_norm = rms_norm_of(config),
       .feed_forward = experts_of(
           config,
           {.num_experts = config.count("num_experts", config.count("num_local_experts", 128)),
            .hidden_dim = config.size("moe_intermediate_size"),
            .weights = config.flag("norm_topk_prob", false) ? ExpertWeights::kSumToOne
                                                            : ExpertWeights::kScores})});
}

std::vector<WeightRow> qwen3_moe_weights(const ForeignConfig& config) {
  return with_expert_weights(llama_weights(config), "mlp",
                             {.gate = "gate_proj", .up = "up_proj", .down = "down_proj"});
}

nlohmann::ordered_json qwen3_moe_config(const PlainModel& model) {
  const LayerParts parts = parts_of(model.layers.front());
  nlohmann::ordered_json out = qwen_fields(model);
  write_experts(out, parts);
  out["attention_bias"] = parts.qkv_bias;
  out["num_experts"] = int64_t{*parts.experts.num_experts};
  out["moe_intermediate_size"] = width_in(parts.experts.hidden_dim);
  out["intermediate_size"] = out["moe_intermediate_size"];  // no layer is dense
  out["norm_topk_prob"] = parts.router.weights == ExpertWeights::kSumToOne;
  out["decoder_sparse_step"] = 1;
  out["mlp_only_layers"] = nlohmann::ordered_json::array();
  return out;
}

const FamilyRow qwen3_moe_row({.model_type = "qwen3_moe",
                               .model = qwen3_moe,
                               .weights = qwen3_moe_weights,
                               .architecture = "Qwen3MoeForCausalLM",
                               .fields = qwen3_moe_config});

}  // namespace
}  // namespace axle
