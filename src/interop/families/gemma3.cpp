// Gemma 3, the text model: norms of queries and keys, and rotations that differ between layers with
// a window and those that see everything.
//
// Source: Gemma Team 2025, arXiv 2503.19786, section 2.
#include "interop/families/gemma_like.h"
#include "interop/families/llama_like.h"
#include "interop/families/written_fields.h"

namespace axle {
namespace {

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
