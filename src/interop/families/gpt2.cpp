// GPT-2: learned positions, layer norms, biases everywhere.
//
// Source: Radford et al. 2019, Language models are unsupervised multitask learners, section 2.3.
#include "interop/families/llama_like.h"
#include "interop/families/written_fields.h"
#include "layers/attention/attention.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "layers/dense/linear.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/models/causal_lm.h"
#include "layers/norms/norm.h"
#include "layers/positions/position_embedding.h"

namespace axle {
namespace {

Child<Model> gpt2(const ForeignConfig& config) {
  ignore_common(config);
  // Dropout of training, and the classifiers that the model may also be.
  config.ignore({"attn_pdrop", "embd_pdrop", "resid_pdrop", "summary_activation",
                 "summary_first_dropout", "summary_proj_to_labels", "summary_type",
                 "summary_use_proj", "task_specific_params", "n_ctx", "reorder_and_upcast_attn"});
  config.expect("scale_attn_weights", true);
  config.expect("scale_attn_by_inverse_layer_idx", false);
  config.expect("add_cross_attention", false);
  const Child<Norm> norm =
      LayerNorm::Config{.eps = static_cast<float>(config.number("layer_norm_epsilon", 1e-5))};
  const HeadInputLinear::Config heads{.bias = true};
  const int64_t model_dim = config.size("n_embd");
  const Linear::Config linear{.bias = true};
  TransformerLayer::Config layer{
      .attention =
          PreNorm::Config{
              .norm = norm,
              .body =
                  Attention::Config{
                      .num_heads = config.size("n_head"),
                      .qkv = SeparateQKV::Config{.q_proj = heads, .k_proj = heads, .v_proj = heads},
                      .output = HeadOutputLinear::Config{.bias = true}}},
      .feed_forward = PreNorm::Config{
          .norm = norm,
          .body = FeedForward::Config{
              .hidden_dim = FixedDim{.dim = config.size("n_inner", 4 * model_dim)},
              .activation = activation_of(config, "activation_function", "gelu_new"),
              .up = linear,
              .down = linear}}};
  Decoder::Config decoder{
      .model_dim = model_dim,
      .vocab_size = config.size("vocab_size"),
      .max_seq_len = config.size("n_positions"),
      .position_emb = LearnedPositions::Config{},
      .layers = Repeat::Config{.num_layers = config.count("n_layer"), .layer = std::move(layer)},
      .output_norm = norm};
  if (!config.flag("tie_word_embeddings", true)) decoder.lm_head = LmHead::Config{};
  return CausalLM::Config{.decoder = std::move(decoder)};
}

// Its own kind of projection stores [inputs, outputs].
std::vector<WeightRow> gpt2_weights(const ForeignConfig&) {
  std::vector<WeightRow> out = {
      {.ours = "decoder/emb/weight", .theirs = "transformer.wte.weight"},
      {.ours = "decoder/position_emb/weight", .theirs = "transformer.wpe.weight"},
      {.ours = "decoder/output_norm/scale", .theirs = "transformer.ln_f.weight"},
      {.ours = "decoder/output_norm/bias", .theirs = "transformer.ln_f.bias"},
      {.ours = "decoder/lm_head/weight", .theirs = "lm_head.weight"}};
  const WeightRows layer(out, "decoder/layers/layer/", "transformer.h.{layer}.");
  layer.norm("attention/norm", "ln_1");
  layer.norm("feed_forward/norm", "ln_2");
  for (const std::string name : {"q_proj", "k_proj", "v_proj"})
    layer.linear("attention/body/qkv/" + name, "attn.c_attn", Storage::kSame);
  layer.linear("attention/body/output", "attn.c_proj", Storage::kTransposed);
  layer.linear("feed_forward/body/up", "mlp.c_fc", Storage::kSame);
  layer.linear("feed_forward/body/down", "mlp.c_proj", Storage::kSame);
  return out;
}

nlohmann::ordered_json gpt2_config(const PlainModel& model) {
  const Decoder::Config& decoder = model.decoder;
  const LayerParts parts = parts_of(model.layers.front());
  const std::string activation = activation_name(parts.feed_forward.activation);
  nlohmann::ordered_json out{
      {"vocab_size", int64_t{*decoder.vocab_size}},
      {"n_embd", int64_t{*decoder.model_dim}},
      {"n_layer", model.layers.size()},
      {"n_head", int64_t{*parts.attention.num_heads}},
      {"n_inner", width_in(parts.feed_forward.hidden_dim)},
      {"activation_function", activation == "gelu_pytorch_tanh" ? "gelu_new" : activation},
      {"layer_norm_epsilon", epsilon_of(decoder.output_norm)},
      {"attn_pdrop", 0.0},
      {"embd_pdrop", 0.0},
      {"resid_pdrop", 0.0},
      {"tie_word_embeddings", !decoder.lm_head}};
  const auto* const positions =
      decoder.position_emb ? decoder.position_emb->get_if<LearnedPositions>() : nullptr;
  if (positions && positions->num_positions)
    out["n_positions"] = int64_t{*positions->num_positions};
  else if (decoder.max_seq_len)
    out["n_positions"] = int64_t{*decoder.max_seq_len};
  return out;
}

// The causal mask, and the number that stands for hidden keys.
bool is_mask(const std::string& tensor) {
  return tensor.ends_with(".attn.bias") || tensor.ends_with(".attn.masked_bias");
}

const FamilyRow gpt2_row({.model_type = "gpt2",
                          .model = gpt2,
                          .weights = gpt2_weights,
                          .architecture = "GPT2LMHeadModel",
                          .fields = gpt2_config,
                          .is_computed = is_mask,
                          .inputs_first = true});

}  // namespace
}  // namespace axle
