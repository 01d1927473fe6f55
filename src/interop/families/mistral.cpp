// Mistral: a Llama whose queries see a window.
//
// Source: Jiang et al. 2023, arXiv 2310.06825, section 2.
#include "interop/families/llama_like.h"
#include "interop/families/written_fields.h"

namespace axle {
namespace {

Child<Model> mistral(const ForeignConfig& config) {
  return llama_like(config, {.defaults = {.num_kv_heads = 8},
                             .window = config.optional_size("sliding_window", 4096)});
}

nlohmann::ordered_json mistral_config(const PlainModel& model) {
  nlohmann::ordered_json out = llama_fields(model);
  out["sliding_window"] = or_null(parts_of(model.layers.front()).window);
  return out;
}

const FamilyRow mistral_row({.model_type = "mistral",
                             .model = mistral,
                             .weights = llama_weights,
                             .architecture = "MistralForCausalLM",
                             .fields = mistral_config});

}  // namespace
}  // namespace axle
