// Families with experts: Mixtral and Qwen3-MoE.
#pragma once

#include "interop/families/llama_like.h"
#include "layers/experts/linear_routers.h"

namespace axle {

struct ExpertSizes {
  int64_t num_experts = 0;
  int64_t hidden_dim = 0;
  ExpertWeights weights = ExpertWeights::kSumToOne;
};
/// Returns gated experts behind a softmax router with `num_experts_per_tok` choices. The loss of
/// its load counts if `output_router_logits` is set, as there.
Child<Mixer> experts_of(const ForeignConfig& config, const ExpertSizes& sizes);

/// The names of the three projections of an expert.
struct ExpertNames {
  std::string gate, up, down;
};
/// Returns `rows` and the rows of router and experts, which `module` of each layer holds.
std::vector<WeightRow> with_expert_weights(std::vector<WeightRow> rows, const std::string& module,
                                           const ExpertNames& names);

}  // namespace axle
