#include "interop/families/llama_like.h"

#include <algorithm>
#include <cmath>

#include "interop/families/written_fields.h"
#include "layers/attention/attention.h"
#include "layers/attention/caches/bounded_kv_caches.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/blocks/norm_placements.h"
#include "layers/dense/linear.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/models/causal_lm.h"
#include "layers/norms/norm.h"
#include "layers/positions/frequencies.h"

namespace axle {
namespace {

// Phi-3 keeps its original length beside the scaling.
int64_t original_len_of(const ForeignConfig& config, const ForeignConfig& scaling) {
  constexpr const char* kKey = "original_max_position_embeddings";
  return config.size(kKey, scaling.size(kKey, config.size("max_position_embeddings")));
}

// LongRoPE: each frequency has a divisor, and another one in texts beyond the original length.
FrequencyFn longrope_of(const ForeignConfig& config, const ForeignConfig& scaling) {
  const auto original = static_cast<double>(original_len_of(config, scaling)),
             longest = static_cast<double>(config.size("max_position_embeddings"));
  const double factor = scaling.number("factor", longest / original);
  if (original < 2) config.fail("original_max_position_embeddings", "at least 2");
  const std::vector<double> divisors = scaling.numbers("short_factor"),
                            of_long = scaling.numbers("long_factor");
  DividedFrequencies out{
      .divisors = std::vector<Positive<double>>(divisors.begin(), divisors.end()),
      .attention_factor =
          scaling.number("attention_factor",
                         factor > 1 ? std::sqrt(1 + std::log(factor) / std::log(original)) : 1)};
  if (of_long == divisors || longest <= original) return out;
  out.long_divisors.assign(of_long.begin(), of_long.end());
  out.original_len = static_cast<int64_t>(original);
  return out;
}

std::string rope_type_of(const ForeignConfig& scaling) {
  const std::string type = scaling.text("rope_type", scaling.text("type", "default"));
  return type == "su" ? "longrope" : type;  // an old name
}

FrequencyFn frequencies_of(const ForeignConfig& config, const ForeignConfig& scaling) {
  const std::string type = rope_type_of(scaling);
  const auto factor = [&] { return scaling.number("factor", 1); };
  const auto original_len = [&] {
    return scaling.size("original_max_position_embeddings", config.size("max_position_embeddings"));
  };
  if (type == "default") return PlainFrequencies{};
  if (type == "linear") return LinearFrequencies{.factor = factor()};
  if (type == "dynamic") {
    scaling.ignore({"original_max_position_embeddings"});  // transformers takes no notice of it
    return DynamicFrequencies{.factor = factor(),
                              .original_len = config.size("max_position_embeddings")};
  }
  if (type == "llama3") {
    return Llama3Frequencies{.factor = factor(),
                             .low_freq_factor = scaling.number("low_freq_factor", 1),
                             .high_freq_factor = scaling.number("high_freq_factor", 4),
                             .original_len = original_len()};
  }
  if (type == "yarn") {
    YaRNFrequencies out{.factor = factor(),
                        .original_len = original_len(),
                        .beta_fast = scaling.number("beta_fast", 32),
                        .beta_slow = scaling.number("beta_slow", 1),
                        .whole_indices = scaling.flag("truncate", true)};
    const double scale = scaling.number("mscale", 0), all = scaling.number("mscale_all_dim", 0);
    if (const auto own = scaling.optional_number("attention_factor"))
      out.attention_factor = *own;
    else if (scale != 0 && all != 0)
      out.attention_factor = yarn_scale(factor(), scale) / yarn_scale(factor(), all);
    return out;
  }
  if (type == "longrope") return longrope_of(config, scaling);
  scaling.fail(scaling.has("rope_type") ? "rope_type" : "type",
               "default, linear, dynamic, llama3, longrope or yarn");
}

Child<QKV> projections(const LlamaVariant& variant) {
  const HeadInputLinear::Config heads{.bias = variant.qkv_bias};
  Child<QKV> out = SeparateQKV::Config{.q_proj = heads, .k_proj = heads, .v_proj = heads};
  if (!variant.head_norm) return out;
  return NormedQKV::Config{.query_norm = variant.head_norm,
                           .key_norm = variant.head_norm,
                           .over = variant.head_norm_over,
                           .inner = std::move(out)};
}

Attention::Config attention_of(const ForeignConfig& config, const LlamaVariant& variant) {
  const int64_t num_heads = config.size("num_attention_heads");
  const LlamaDefaults& defaults = variant.defaults;
  Attention::Config out{
      .num_heads = num_heads,
      .num_kv_heads =
          config.optional_size("num_key_value_heads", defaults.num_kv_heads).value_or(num_heads),
      .qkv = rope_of(config, {}, defaults.rope_theta),
      .output = HeadOutputLinear::Config{.bias = variant.output_bias}};
  if (const auto head_dim = config.optional_size("head_dim", defaults.head_dim))
    out.head_dim = *head_dim;
  out.qkv.get_if<RoPE>()->inner = projections(variant);
  if (variant.window) {
    out.mask = SlidingWindowMask::Config{.window = *variant.window - 1};
    out.kv_cache = SlidingKVCache::Config{.window = *variant.window - 1};
  }
  return out;
}

Child<Mixer> feed_forward_of(const ForeignConfig& config, const LlamaVariant& variant) {
  if (variant.feed_forward) return variant.feed_forward;
  const Linear::Config linear{.bias = variant.feed_forward_bias};
  return FeedForward::Config{.hidden_dim = FixedDim{.dim = config.size("intermediate_size")},
                             .activation = activation_of(config, "hidden_act"),
                             .gate = linear,
                             .up = linear,
                             .down = linear};
}

Child<Block> layer_of(const ForeignConfig& config, const LlamaVariant& variant) {
  const Child<Norm> norm = rms_norm_of(config, variant.defaults.rms_norm_eps);
  const auto residual = [&](Child<Mixer> body) -> Child<Block> {
    if (!variant.norms_results) return PreNorm::Config{.norm = norm, .body = std::move(body)};
    return Sandwich::Config{
        .in_norm = {}, .body = std::move(body), .body_norm = norm, .out_norm = {}};
  };
  return TransformerLayer::Config{.attention = residual(attention_of(config, variant)),
                                  .feed_forward = residual(feed_forward_of(config, variant))};
}

}  // namespace

void ignore_common(const ForeignConfig& config) {
  config.ignore({"architectures",
                 "auto_map",
                 "model_type",
                 "_name_or_path",
                 "transformers_version",
                 "torch_dtype",
                 "dtype",
                 "use_cache",
                 "initializer_range",
                 "pretraining_tp",
                 "bos_token_id",
                 "eos_token_id",
                 "pad_token_id",
                 "unk_token_id",
                 "is_decoder",
                 "output_attentions",
                 "output_hidden_states",
                 "return_dict",
                 "chunk_size_feed_forward",
                 "id2label",
                 "label2id",
                 "problem_type",
                 "tokenizer_class",
                 "unsloth_fixed",
                 "unsloth_version",
                 "is_llama_config",
                 "transformers.js_config",
                 "sep_token_id",
                 "_attn_implementation_autoset"});
  // How texts were generated, which old versions kept here.
  config.ignore({"do_sample", "early_stopping", "length_penalty", "max_length", "min_length",
                 "no_repeat_ngram_size", "num_beams", "num_return_sequences", "repetition_penalty",
                 "temperature", "top_k", "top_p", "typical_p"});
  config.expect("attention_dropout", 0.0);
  config.expect("is_encoder_decoder", false);
  config.expect("rope_interleaved", false);
}

RoPE::Config rope_of(const ForeignConfig& config, std::string_view layer_type,
                     double default_theta) {
  RoPE::Config out{.theta = config.number("rope_theta", default_theta),
                   .pairs = PairLayout::kHalves,
                   .fraction = config.number("partial_rotary_factor", 1)};
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    auto group = config.group(key);
    if (group && !layer_type.empty()) group = group->group(layer_type);
    if (!group) continue;
    if (const auto theta = group->optional_number("rope_theta")) out.theta = *theta;
    out.frequencies = frequencies_of(config, *group);
    if (const auto fraction = group->optional_number("partial_rotary_factor"))
      out.fraction = *fraction;
    // As for transformers, the old name wins over the new one.
    if (std::string_view(key) == "rope_scaling") config.ignore({"rope_parameters"});
    break;
  }
  return out;
}

double yarn_scale(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

Child<Norm> rms_norm_of(const ForeignConfig& config, double default_eps) {
  return RMSNorm::Config{.eps = static_cast<float>(config.number("rms_norm_eps", default_eps))};
}

Activation activation_of(const ForeignConfig& config, std::string_view key,
                         std::string_view fallback) {
  const std::string name = config.text(key, fallback);
  if (name == "silu" || name == "swish") return {"silu", &silu};
  if (name == "gelu") return {"exact_gelu", &exact_gelu};
  if (name == "gelu_pytorch_tanh" || name == "gelu_new" || name == "gelu_fast")
    return {"gelu", &gelu};
  if (name == "relu") return {"relu", &relu};
  config.fail(key, "silu, gelu, gelu_pytorch_tanh, gelu_new or relu");
}

Child<Model> llama_like(const ForeignConfig& config, const LlamaVariant& variant) {
  return llama_like(config, LayerKinds::all_alike(config.count("num_hidden_layers")), {variant});
}

Child<Model> llama_like(const ForeignConfig& config, const LayerKinds& kinds,
                        const std::vector<LlamaVariant>& variants) {
  ignore_common(config);
  std::vector<Child<Block>> layers;
  for (const LlamaVariant& variant : variants) layers.push_back(layer_of(config, variant));
  Decoder::Config decoder{.model_dim = config.size("hidden_size"),
                          .vocab_size = config.size("vocab_size"),
                          .max_seq_len = config.size("max_position_embeddings"),
                          .layers = kinds.stack(layers),
                          .output_norm = rms_norm_of(config, variants.at(0).defaults.rms_norm_eps)};
  if (!config.flag("tie_word_embeddings", false)) decoder.lm_head = LmHead::Config{};
  return CausalLM::Config{.decoder = std::move(decoder)};
}

std::vector<WeightRow> llama_weights(const ForeignConfig&) {
  std::vector<WeightRow> out = {
      {.ours = "decoder/emb/weight", .theirs = "model.embed_tokens.weight"},
      {.ours = "decoder/output_norm/scale", .theirs = "model.norm.weight"},
      {.ours = "decoder/lm_head/weight", .theirs = "lm_head.weight"}};
  const WeightRows layer(out, "decoder/layers/layer/", "model.layers.{layer}.");
  layer.norm("attention/norm", "input_layernorm");
  layer.norm("feed_forward/norm", "post_attention_layernorm");
  for (const std::string name : {"q_proj", "k_proj", "v_proj"}) {
    for (const std::string at : {"inner/", "inner/inner/"})  // below norms of heads, too
      layer.linear("attention/body/qkv/" + at + name, "self_attn." + name, Storage::kTransposed);
  }
  layer.norm("attention/body/qkv/inner/query_norm", "self_attn.q_norm");
  layer.norm("attention/body/qkv/inner/key_norm", "self_attn.k_norm");
  layer.linear("attention/body/output", "self_attn.o_proj", Storage::kSame);
  for (const std::string name : {"gate", "up", "down"})
    layer.linear("feed_forward/body/" + name, "mlp." + name + "_proj", Storage::kTransposed);
  return out;
}

// Llama 2, 3, 3.1, 3.2 and 3.3, SmolLM, and others that call themselves so.

namespace {

Child<Model> llama(const ForeignConfig& config) {
  const bool attention_bias = config.flag("attention_bias", false);
  return llama_like(config, {.qkv_bias = attention_bias,
                             .output_bias = attention_bias,
                             .feed_forward_bias = config.flag("mlp_bias", false)});
}

nlohmann::ordered_json llama_config(const PlainModel& model) {
  const LayerParts parts = parts_of(model.layers.front());
  nlohmann::ordered_json out = llama_fields(model);
  out["attention_bias"] = parts.qkv_bias;
  out["mlp_bias"] = parts.feed_forward_bias;
  return out;
}

const FamilyRow llama_row({.model_type = "llama",
                           .model = llama,
                           .weights = llama_weights,
                           .architecture = "LlamaForCausalLM",
                           .fields = llama_config});

// Mistral: a Llama whose queries see a window.
//
// Source: Jiang et al. 2023, arXiv 2310.06825, section 2.

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

// Families that differ from Llama in few fields: OLMo 2 and Phi 3.

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

// Phi-3: a Llama with one matrix for queries, keys and values, and one for gate and hidden layer.
//
// Source: Abdin et al. 2024, arXiv 2404.14219, section 2.

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
