// Mixtral: a Llama whose feed-forward networks are mixtures of experts.
//
// Source: Jiang et al. 2024, arXiv 2401.04088, section 2.
#include "interop/families/expert_layers.h"

namespace axle {
namespace {

Child<Model> mixtral(const ForeignConfig& config) {
  return llama_like(config, {.window = config.optional_size("sliding_window"),
                             .feed_forward = experts_of(
                                 config, {.num_experts = config.size("num_local_experts"),
                                          .hidden_dim = config.size("intermediate_size")})});
}

std::vector<WeightRow> mixtral_weights(const ForeignConfig& config) {
  return with_expert_weights(llama_weights(config), "block_sparse_moe",
                             {.gate = "w1", .up = "w3", .down = "w2"});
}

const FamilyRow mixtral_row({.model_type = "mixtral",
                             .model = mixtral,
                             .weights = mixtral_weights});

}  // namespace
}  // namespace axle
