// Gemma 2: caps of the logits of attention and of the head; every second layer sees everything.
//
// Source: Gemma Team 2024, arXiv 2408.00118, section 2.
#include "interop/families/gemma_like.h"
#include "interop/families/llama_like.h"

namespace axle {
namespace {

constexpr int64_t kPeriod = 2;

Child<Model> gemma2(const ForeignConfig& config) {
  config.ignore({"hidden_act"});  // an old name, which stands beside hidden_activation
  const RoPE::Config rope = rope_of(config);
  const auto cap_of = [&](std::string_view key, double fallback) {
    return config.mentions(key) ? config.optional_number(key) : fallback;
  };
  return gemma_like(config, {.period = kPeriod,
                             .has_head_norms = false,
                             .attention_cap = cap_of("attn_logit_softcapping", 50),
                             .logit_cap = cap_of("final_logit_softcapping", 30),
                             .local_rope = rope,
                             .global_rope = rope});
}

std::vector<WeightRow> gemma2_weights(const ForeignConfig& config) {
  return gemma_weights(config, kPeriod);
}

const FamilyRow gemma2_row({.model_type = "gemma2",
                            .model = gemma2,
                            .weights = gemma2_weights,
                            .architecture = "Gemma2ForCausalLM",
                            .fields = gemma_fields});

}  // namespace
}  // namespace axle
