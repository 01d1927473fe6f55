// DeepSeek-V3: latent attention, and experts behind a router whose loads a bias balances. The
// module that predicts a further token is left out.
//
// Source: DeepSeek-AI 2024, arXiv 2412.19437, section 2.1.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "interop/families/llama_like.h"
#include "interop/families/written_fields.h"
#include "layers/attention/latent_attention.h"
#include "layers/blocks/norm_placements.h"
#include "layers/experts/linear_routers.h"
#include "layers/experts/moe.h"
#include "layers/models/causal_lm.h"
#include "layers/norms/norm.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

// The layers without experts come first.
struct LayerCounts {
  int64_t dense, expert;
};
LayerCounts counts_of(const ForeignConfig& config) {
  const int64_t all = config.count("num_hidden_layers"),
                first = std::min(config.whole_number("first_k_dense_replace", 3), all);
  return {first, all - first};
}
// 0: layers without experts; 1: those with them.
LayerKinds kinds_of(const LayerCounts& counts) {
  std::vector<size_t> kinds(static_cast<size_t>(counts.dense), 0);
  kinds.resize(counts.dense + counts.expert, 1);
  return LayerKinds(std::move(kinds));
}

// None: queries are projected at once.
std::optional<int64_t> query_rank(const ForeignConfig& config) {
  return config.optional_size("q_lora_rank", 1536);
}

// What queries are multiplied by: YaRN makes them longer where it makes texts longer.
double query_scale(const ForeignConfig& config, int64_t head_dim) {
  double out = 1 / std::sqrt(static_cast<double>(head_dim));
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const auto scaling = config.group(key);
    if (!scaling) continue;
    const double mscale = scaling->number("mscale_all_dim", 0),
                 factor = yarn_scale(scaling->number("factor", 1), mscale);
    if (mscale != 0) out *= factor * factor;
    break;
  }
  return out;
}

LatentAttention::Config attention_of(const ForeignConfig& config) {
  const bool bias = config.flag("attention_bias", false);
  const RoPE::Config rope = rope_of(config);
  const Child<Norm> norm = RMSNorm::Config{.eps = 1e-6f};  // whatever rms_norm_eps says
  const HeadInputLinear::Config heads{.bias = false};
  LatentAttention::Config out{
      .num_heads = config.size("num_attention_heads", 128),
      .kv_rank = config.size("kv_lora_rank", 512),
      .nope_dim = config.size("qk_nope_head_dim", 128),
      .rope_dim = config.size("qk_rope_head_dim", 64),
      .value_dim = config.size("v_head_dim", 128),
      .theta = rope.theta,
      .frequencies = rope.frequencies,
      .pairs = config.flag("rope_interleave", true) ? PairLayout::kNeighbours : PairLayout::kHalves,
      .query_up = heads,
      .kv_down = Linear::Config{.bias = bias},
      .kv_norm = norm,
      .output = HeadOutputLinear::Config{.bias = bias}};
  if (config.size("num_key_value_heads", 128) != out.num_heads)
    config.fail("num_key_value_heads", fmt::format("{}, the heads", int64_t{*out.num_heads}));
  if (const auto rank = query_rank(config)) {
    out.query_rank = *rank;
    out.query_down = Linear::Config{.bias = bias};
    out.query_norm = norm;
  }
  out.core = SoftmaxAttention::Config{.scale = query_scale(config, out.nope_dim + out.rope_dim)};
  return out;
}

FeedForward::Config gated(const ForeignConfig& config, int64_t hidden_dim) {
  const Linear::Config linear{.bias = false};
  return {.hidden_dim = FixedDim{.dim = hidden_dim},
          .activation = activation_of(config, "hidden_act"),
          .gate = linear,
          .up = linear,
          .down = linear};
}

// The experts of `num_layers` layers.
MoE::Config experts_of(const ForeignConfig& config, int64_t num_layers) {
  config.expect("norm_topk_prob", true);
  config.expect("scoring_func", "sigmoid");
  config.expect("topk_method", "noaux_tc");
  config.expect("moe_layer_freq", 1);
  const int64_t hidden_dim = config.size("moe_intermediate_size", 2048);
  return {
      // Configs of models without such layers say how many there would be.
      .num_experts = num_layers > 0 ? config.count("n_routed_experts", 256)
                                    : config.size("n_routed_experts", 256),
      .router = BalancedRouter::Config{.top_k = config.size("num_experts_per_tok", 8),
                                       .routed_scale = config.number("routed_scaling_factor", 2.5),
                                       .num_expert_groups = config.size("n_group", 8),
                                       .top_groups = config.size("topk_group", 4),
                                       .losses = {.load_balance = 0, .z = 0}},
      .hidden_dim = FixedDim{.dim = hidden_dim},
      .activation = activation_of(config, "hidden_act"),
      .gate = Linear::Config{.bias = false},
      .shared = gated(config, hidden_dim * config.size("n_shared_experts", 1))};
}

Child<Model> deepseek_v3(const ForeignConfig& config) {
  ignore_common(config);
  // Sizes that other fields set; losses and layouts of training; the module for a further token.
  config.ignore({"head_dim", "qk_head_dim", "ep_size", "aux_loss_alpha", "seq_aux",
                 "output_router_logits", "num_nextn_predict_layers"});
  const Child<Norm> norm = rms_norm_of(config);
  const auto layer = [&](Child<Mixer> feed_forward) -> Child<Block> {
    return TransformerLayer::Config{
        .attention = PreNorm::Config{.norm = norm, .body = attention_of(config)},
        .feed_forward = PreNorm::Config{.norm = norm, .body = std::move(feed_forward)}};
  };
  const LayerCounts counts = counts_of(config);
  const FeedForward::Config dense = gated(config, config.size("intermediate_size", 18432));
  const MoE::Config experts = experts_of(config, counts.expert);
  Decoder::Config decoder{.model_dim = config.size("hidden_size", 7168),
                          .vocab_size = config.size("vocab_size", 129280),
                          .max_seq_len = config.size("max_position_embeddings"),
                          .layers = kinds_of(counts).stack({layer(dense), layer(experts)}),
                          .output_norm = norm};
  if (!config.flag("tie_word_embeddings", false)) decoder.lm_head = LmHead::Config{};
  return CausalLM::Config{.decoder = std::move(decoder)};
}

// The rows of a model whose layers are all alike.
std::vector<WeightRow> rows_of(const ForeignConfig& config, bool has_experts) {
  const std::string ours = "decoder/layers/layer/", theirs = "model.layers.{layer}.";
  std::vector<WeightRow> rows = llama_weights(config);
  std::erase_if(rows, [&](const WeightRow& row) { return row.ours.starts_with(ours); });
  const WeightRows layer(rows, ours, theirs);
  layer.norm("attention/norm", "input_layernorm");
  layer.norm("feed_forward/norm", "post_attention_layernorm");
  const std::string attention = "attention/body/", module = "self_attn.";
  layer.linear(attention + "query_down", module + "q_a_proj", Storage::kTransposed);
  layer.norm(attention + "query_norm", module + "q_a_layernorm");
  layer.linear(attention + "query_up", module + (query_rank(config) ? "q_b_proj" : "q_proj"),
               Storage::kTransposed);
  layer.linear(attention + "kv_down", module + "kv_a_proj_with_mqa", Storage::kTransposed);
  layer.norm(attention + "kv_norm", module + "kv_a_layernorm");
  for (const char* name : {"key_up", "value_up"}) {
    layer.add(attention + name, module + "kv_b_proj.weight", Storage::kTransposed);
    rows.back().num_groups = config.size("num_attention_heads", 128);
  }
  layer.linear(attention + "output", module + "o_proj", Storage::kSame);
  const std::string mixer = "feed_forward/body/";
  layer.linear(mixer + "router", "mlp.gate", Storage::kTransposed);
  rows.back() = {.ours = ours + mixer + "router/bias",  // of the router's state
                 .theirs = theirs + "mlp.gate.e_score_correction_bias",
                 .storage = Storage::kVector};
  for (const std::string name : {"gate", "up", "down"}) {
    const std::string expert = has_experts ? "experts.{expert}." : "";
    layer.linear(mixer + name, "mlp." + expert + name + "_proj", Storage::kTransposed);
    layer.linear(mixer + "shared/" + name, "mlp.shared_experts." + name + "_proj",
                 Storage::kTransposed);
  }
  return rows;
}

std::vector<WeightRow> deepseek_v3_weights(const ForeignConfig& config) {
  return kinds_of(counts_of(config)).rows({rows_of(config, false), rows_of(config, true)});
}

bool is_of_further_tokens(const ForeignConfig& config, const std::string& tensor) {
  const std::string layers = "model.layers.";
  if (!tensor.starts_with(layers)) return false;
  const size_t dot = tensor.find('.', layers.size());
  const std::string number = tensor.substr(layers.size(), dot - layers.size());
  const auto is_digit = [](char c) { return '0' <= c && c <= '9'; };
  return !number.empty() && number.size() < 9 && std::ranges::all_of(number, is_digit) &&
         std::stoll(number) >= config.size("num_hidden_layers");
}

// The network behind the attention of a layer; null for layers of another form.
const Child<Mixer>* mixer_of(const Child<Block>& block) {
  const auto* const layer = block.get_if<TransformerLayer>();
  const auto* const residual = layer ? layer->feed_forward.get_if<PreNorm>() : nullptr;
  return residual ? &residual->body : nullptr;
}
template <class Module>
const typename Module::Config* mixer_as(const Child<Block>& block) {
  const Child<Mixer>* const mixer = mixer_of(block);
  return mixer ? mixer->template get_if<Module>() : nullptr;
}

void write_attention(Json& out, const LatentAttention::Config& attention) {
  const auto* const down = attention.kv_down.get_if<Linear>();
  out["num_attention_heads"] = int64_t{*attention.num_heads};
  out["num_key_value_heads"] = int64_t{*attention.num_heads};
  out["q_lora_rank"] = nullptr;
  if (attention.query_rank) out["q_lora_rank"] = int64_t{*attention.query_rank};
  out["kv_lora_rank"] = int64_t{attention.kv_rank};
  out["qk_nope_head_dim"] = int64_t{attention.nope_dim};
  out["qk_rope_head_dim"] = int64_t{attention.rope_dim};
  out["v_head_dim"] = int64_t{attention.value_dim};
  out["rope_interleave"] = attention.pairs == PairLayout::kNeighbours;
  out["attention_bias"] = down && down->bias;
  write_rope(out, {.theta = attention.theta, .frequencies = attention.frequencies});
  // The factor of queries beside that of their size belongs to the scaling of positions.
  const auto* const core = attention.core.get_if<SoftmaxAttention>();
  Json& scaling = out["rope_scaling"];
  if (!core || !core->scale || !scaling.is_object() || !scaling.contains("factor")) return;
  const double head_dim = static_cast<double>(attention.nope_dim + attention.rope_dim),
               factor = std::sqrt(*core->scale * std::sqrt(head_dim)),
               per_mscale = 0.1 * std::log(scaling["factor"].get<double>());
  if (factor == 1 || per_mscale <= 0) return;
  // Rounded to the digits of the factor.
  scaling["mscale_all_dim"] = std::round((factor - 1) / per_mscale * 1e9) / 1e9;
}

Json deepseek_v3_config(const PlainModel& model) {
  Json out = llama_fields(model);
  for (const char* key : {"intermediate_size", "head_dim"}) out.erase(key);
  const auto* const first = model.layers.front().get_if<TransformerLayer>();
  const auto* const block = first ? first->attention.get_if<PreNorm>() : nullptr;
  const auto* const attention = block ? block->body.get_if<LatentAttention>() : nullptr;
  write_attention(out, attention ? *attention : LatentAttention::Config{.num_heads = 1});
  const auto* const dense = mixer_as<FeedForward>(model.layers.front());
  out["intermediate_size"] = dense ? width_in(dense->hidden_dim) : 1;
  int64_t num_dense = 0;
  const MoE::Config* experts = nullptr;
  for (const Child<Block>& layer : model.layers) {
    experts = mixer_as<MoE>(layer);
    if (experts) break;
    ++num_dense;
  }
  out["first_k_dense_replace"] = num_dense;
  out["norm_topk_prob"] = true;
  out["num_nextn_predict_layers"] = 0;
  if (!experts) return out;
  const auto* const shared = experts->shared ? experts->shared->get_if<FeedForward>() : nullptr;
  const auto* const found = experts->router.get_if<BalancedRouter>();
  const BalancedRouter::Config router = found ? *found : BalancedRouter::Config{};
  const int64_t width = width_in(experts->hidden_dim);
  out["hidden_act"] = activation_name(experts->activation);
  out["moe_intermediate_size"] = width;
  out["n_routed_experts"] = int64_t{*experts->num_experts};
  out["n_shared_experts"] = shared ? std::max<int64_t>(width_in(shared->hidden_dim) / width, 1) : 1;
  out["num_experts_per_tok"] = int64_t{router.top_k};
  out["n_group"] = int64_t{router.num_expert_groups};
  out["topk_group"] = int64_t{router.top_groups};
  out["routed_scaling_factor"] = double{router.routed_scale};
  return out;
}

const FamilyRow deepseek_v3_row({.model_type = "deepseek_v3",
                                 .model = deepseek_v3,
                                 .weights = deepseek_v3_weights,
                                 .architecture = "DeepseekV3ForCausalLM",
                                 .fields = deepseek_v3_config,
                                 .is_left_out = is_of_further_tokens});

}  // namespace
}  // namespace axle
