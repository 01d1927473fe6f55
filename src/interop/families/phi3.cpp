// Phi-3: a Llama with one matrix for queries, keys and values, and one for gate and hidden layer.
//
// Source: Abdin et al. 2024, arXiv 2404.14219, section 2.
#include "interop/families/llama_like.h"
#include "interop/families/written_fields.h"

namespace axle {
namespace {

Child<Model> phi3(const ForeignConfig& config) {
  config.expect("embd_pdrop", 0.0);
  config.expect("resid_pdrop", 0.0);
  config.ignore({"original_max_position_embeddings"});  // of LongRoPE, which reads it
  config.expect("full_attn_mod", 1);                    // each layer sees the whole text
  config.expect("interpolate_factor", 1);
  return llama_like(config, {.defaults = {.rms_norm_eps = 1e-5},
                             .window = config.optional_size("sliding_window")});
}

std::vector<WeightRow> phi3_weights(const ForeignConfig& config) {
  std::vector<WeightRow> out = llama_weights(config);
  const auto ends = [](const WeightRow& row, std::string_view name) {
    return row.theirs.find("." + std::string(name) + ".") != row.theirs.npos;
  };
  for (WeightRow& row : out) {
    for (const char* name : {"q_proj", "k_proj", "v_proj"})
      if (ends(row, name)) row.theirs = "model.layers.{layer}.self_attn.qkv_proj.weight";
    for (const char* name : {"gate_proj", "up_proj"})
      if (ends(row, name)) row.theirs = "model.layers.{layer}.mlp.gate_up_proj.weight";
  }
  return out;
}

nlohmann::ordered_json phi3_config(const PlainModel& model) {
  nlohmann::ordered_json out = llama_fields(model);
  out["sliding_window"] = or_null(parts_of(model.layers.front()).window);
  constexpr const char* kOriginal = "original_max_position_embeddings";
  if (!out.contains(kOriginal)) out[kOriginal] = out["max_position_embeddings"];
  out["embd_pdrop"] = 0.0;
  out["resid_pdrop"] = 0.0;
  return out;
}

const FamilyRow phi3_row({.model_type = "phi3",
                          .model = phi3,
                          .weights = phi3_weights,
                          .architecture = "Phi3ForCausalLM",
                          .fields = phi3_config});

}  // namespace
}  // namespace axle
