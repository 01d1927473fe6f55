// OLMo 2: a Llama whose norms come behind attention and feed-forward network, with norms of all
// queries and of all keys of a position.
//
// Source: OLMo Team 2024, arXiv 2501.00656, section 3.3.
#include "interop/families/llama_like.h"
#include "interop/families/written_fields.h"

namespace axle {
namespace {

Child<Model> olmo2(const ForeignConfig& config) {
  const bool has_bias = config.flag("attention_bias", false);
  const LlamaDefaults defaults{.rms_norm_eps = 1e-5};
  return llama_like(config, {.defaults = defaults,
                             .qkv_bias = has_bias,
                             .output_bias = has_bias,
                             .head_norm = rms_norm_of(config, defaults.rms_norm_eps),
                             .head_norm_over = NormOver::kAllHeads,
                             .norms_results = true});
}

std::vector<WeightRow> olmo2_weights(const ForeignConfig& config) {
  std::vector<WeightRow> out = llama_weights(config);
  std::erase_if(out, [](const WeightRow& row) {
    return row.ours.find("attention/norm/") != row.ours.npos ||
           row.ours.find("feed_forward/norm/") != row.ours.npos;
  });
  const WeightRows layer(out, "decoder/layers/layer/", "model.layers.{layer}.");
  layer.norm("attention/body_norm", "post_attention_layernorm");
  layer.norm("feed_forward/body_norm", "post_feedforward_layernorm");
  return out;
}

nlohmann::ordered_json olmo2_config(const PlainModel& model) {
  nlohmann::ordered_json out = llama_fields(model);
  out["attention_bias"] = parts_of(model.layers.front()).qkv_bias;
  return out;
}

const FamilyRow olmo2_row({.model_type = "olmo2",
                           .model = olmo2,
                           .weights = olmo2_weights,
                           .architecture = "Olmo2ForCausalLM",
                           .fields = olmo2_config});

}  // namespace
}  // namespace axle
