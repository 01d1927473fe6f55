// Mixtral: a Llama whose feed-forward networks are mixtures of experts.
//
// Source: Jiang et al. 2024, arXiv 2401.04088, section 2.
#include "interop/families/expert_layers.h"
#include "interop/families/written_fields.h"

namespace axle {
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

}  // namespace
}  // namespace axle
