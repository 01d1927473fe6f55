#include "interop/families/written_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "layers/dense/linear.h"
#include "layers/norms/norm.h"
#include "layers/positions/frequencies.h"

namespace axle {
namespace {

constexpr std::string_view kLayers = "decoder/layers/", kLayer = "decoder/layers/layer/";

size_t period_of(const std::vector<size_t>& kinds) {
  for (size_t period = 1; period < kinds.size(); ++period) {
    if (std::equal(kinds.begin() + static_cast<std::ptrdiff_t>(period), kinds.end(), kinds.begin()))
      return period;
  }
  return kinds.size();
}

}  // namespace

LayerKinds::LayerKinds(std::vector<size_t> kinds) : kinds_(std::move(kinds)) {
  AXLE_CHECK(!kinds_.empty(), "a model without layers");
  period_ = period_of(kinds_);
  for (size_t i = 0; i < kinds_.size(); ++i) {
    if (i == 0 || kinds_[i] != kinds_[i - 1]) runs_.push_back({.first = i});
    ++runs_.back().count;
  }
}

Child<Block> LayerKinds::stack(const std::vector<Child<Block>>& layers) const {
  const auto loop = [&](const Run& run) {
    return Repeat::Config{.num_layers = static_cast<int64_t>(run.count),
                          .layer = layers.at(kinds_[run.first])};
  };
  if (runs_.size() == 1) return loop(runs_[0]);
  if (repeats_pattern()) {
    Pattern::Config out{.num_layers = std::ssize(kinds_)};
    for (size_t i = 0; i < period_; ++i) out.pattern.push_back(layers.at(kinds_[i]));
    return out;
  }
  Stacked::Config out{.num_layers = std::ssize(runs_), .layer = {}};
  for (const Run& run : runs_) out.layers.push_back(loop(run));
  return out;
}

std::vector<LayerKinds::LayerGroup> LayerKinds::groups() const {
  std::vector<LayerGroup> out;
  if (!repeats_pattern()) {
    for (size_t i = 0; i < runs_.size(); ++i) {
      const std::string run = runs_.size() == 1 ? "" : fmt::format("layer{}/", i);
      out.push_back({.ours = fmt::format("{}{}layer/", kLayers, run),
                     .kind = kinds_[runs_[i].first],
                     .first_layer = static_cast<int64_t>(runs_[i].first)});
    }
    return out;
  }
  for (size_t i = 0; i < period_; ++i) {
    out.push_back({.ours = fmt::format("{}groups/layer/layer{}/", kLayers, i),
                   .kind = kinds_[i],
                   .first_layer = static_cast<int64_t>(i),
                   .stride = static_cast<int64_t>(period_)});
  }
  const size_t num_grouped = kinds_.size() / period_ * period_;
  for (size_t i = num_grouped; i < kinds_.size(); ++i) {
    out.push_back({.ours = fmt::format("{}rest/layer{}/", kLayers, i - num_grouped),
                   .kind = kinds_[i],
                   .first_layer = static_cast<int64_t>(i),
                   .is_stacked = false});
  }
  return out;
}

std::vector<WeightRow> LayerKinds::rows(const std::vector<std::vector<WeightRow>>& rows) const {
  std::vector<WeightRow> out = rows.at(0);
  std::erase_if(out, [](const WeightRow& row) { return row.ours.starts_with(kLayers); });
  for (const LayerGroup& group : groups()) {
    for (WeightRow row : rows.at(group.kind)) {
      if (!row.ours.starts_with(kLayer)) continue;
      row.ours.replace(0, kLayer.size(), group.ours);
      if (group.is_stacked) {
        row.first_layer = group.first_layer;
        row.layer_stride = group.stride;
      } else {
        constexpr std::string_view kNumber = "{layer}";
        row.theirs.replace(row.theirs.find(kNumber), kNumber.size(),
                           std::to_string(group.first_layer));
      }
      out.push_back(std::move(row));
    }
  }
  return out;
}

namespace {

using Json = nlohmann::ordered_json;

struct NormedBody {
  Child<Norm> norm;
  Child<Mixer> body;
};

NormedBody body_of(const Child<Block>& block) {
  if (const auto* const pre = block.get_if<PreNorm>()) return {pre->norm, pre->body};
  if (const auto* const hybrid = block.get_if<HybridNorm>()) return {hybrid->norm, hybrid->body};
  if (const auto* const sandwich = block.get_if<Sandwich>()) return {{}, sandwich->body};
  return {};
}

void read_attention(const Attention::Config& attention, LayerParts& out) {
  out.attention = attention;
  Child<QKV> qkv = attention.qkv;
  if (const auto* const rope = qkv.get_if<RoPE>()) {
    out.rope = *rope;
    qkv = Child<QKV>(rope->inner);
  }
  if (const auto* const normed = qkv.get_if<NormedQKV>()) {
    out.has_head_norms = true;
    qkv = Child<QKV>(normed->inner);
  }
  if (const auto* const separate = qkv.get_if<SeparateQKV>()) {
    if (const auto* const query = separate->q_proj.get_if<HeadInputLinear>())
      out.qkv_bias = query->bias;
  }
  if (const auto* const output = attention.output.get_if<HeadOutputLinear>())
    out.output_bias = output->bias;
  const auto* const mask = attention.mask ? attention.mask->get_if<SlidingWindowMask>() : nullptr;
  if (mask) out.window = mask->window + 1;
}

void read_feed_forward(const Child<Mixer>& body, LayerParts& out) {
  if (const auto* const dense = body.get_if<FeedForward>()) {
    out.feed_forward = *dense;
    if (const auto* const up = dense->up.get_if<Linear>()) out.feed_forward_bias = up->bias;
  } else if (const auto* const experts = body.get_if<MoE>()) {
    out.has_experts = true;
    out.experts = *experts;
    if (const auto* const router = experts->router.get_if<TopKRouter>()) out.router = *router;
  }
}

Json scaling_of(const FrequencyFn& frequencies) {
  const AnyConfig& fn = frequencies.functor();
  if (!fn) return nullptr;
  if (const auto* const linear = fn.get_if<LinearFrequencies>())
    return {{"rope_type", "linear"}, {"factor", double{*linear->factor}}};
  if (const auto* const dynamic = fn.get_if<DynamicFrequencies>()) {
    return {{"rope_type", "dynamic"},
            {"factor", double{*dynamic->factor}},
            {"original_max_position_embeddings", int64_t{*dynamic->original_len}}};
  }
  if (const auto* const llama3 = fn.get_if<Llama3Frequencies>()) {
    return {{"rope_type", "llama3"},
            {"factor", double{*llama3->factor}},
            {"low_freq_factor", double{llama3->low_freq_factor}},
            {"high_freq_factor", double{llama3->high_freq_factor}},
            {"original_max_position_embeddings", int64_t{*llama3->original_len}}};
  }
  if (const auto* const yarn = fn.get_if<YaRNFrequencies>()) {
    Json out{{"rope_type", "yarn"},
             {"factor", double{*yarn->factor}},
             {"original_max_position_embeddings", int64_t{*yarn->original_len}},
             {"beta_fast", double{yarn->beta_fast}},
             {"beta_slow", double{yarn->beta_slow}}};
    if (yarn->attention_factor) out["attention_factor"] = double{*yarn->attention_factor};
    if (!yarn->whole_indices) out["truncate"] = false;
    return out;
  }
  if (const auto* const divided = fn.get_if<DividedFrequencies>()) {
    const auto numbers = [](const std::vector<Positive<double>>& divisors) {
      return std::vector<double>(divisors.begin(), divisors.end());
    };
    const std::vector<double> divisors = numbers(*divided->divisors);
    Json out{{"rope_type", "longrope"},
             {"short_factor", divisors},
             {"long_factor", divided->original_len ? numbers(divided->long_divisors) : divisors},
             {"factor", 1.0},
             {"attention_factor", double{divided->attention_factor}}};
    if (divided->original_len)
      out["original_max_position_embeddings"] = int64_t{*divided->original_len};
    return out;
  }
  return nullptr;
}

}  // namespace

LayerParts parts_of(const Child<Block>& layer) {
  LayerParts out;
  const auto* const transformer = layer.get_if<TransformerLayer>();
  if (!transformer) return out;
  const NormedBody attention = body_of(transformer->attention);
  out.norm = attention.norm;
  if (const auto* const mixer = attention.body.get_if<Attention>()) read_attention(*mixer, out);
  read_feed_forward(body_of(transformer->feed_forward).body, out);
  return out;
}

std::string activation_name(const Activation& activation) {
  const std::string name = activation.name();
  if (name == "gelu") return "gelu_pytorch_tanh";
  if (name == "exact_gelu") return "gelu";
  return name;
}

double epsilon_of(const Child<Norm>& norm) {
  float eps = 0;
  if (const auto* const rms = norm.get_if<RMSNorm>()) eps = rms->eps;
  if (const auto* const layer = norm.get_if<LayerNorm>()) eps = layer->eps;
  return parse_leaf<double>(fmt::format("{}", eps));
}

int64_t width_in(const DimFn& width) {
  const auto* const fixed = width.functor() ? width.functor().get_if<FixedDim>() : nullptr;
  return fixed ? int64_t{*fixed->dim} : 1;
}

void write_rope(Json& fields, const RoPE::Config& rope) {
  fields["rope_theta"] = double{rope.theta};
  Json scaling = scaling_of(rope.frequencies);
  constexpr const char* kOriginal = "original_max_position_embeddings";
  if (scaling.is_object() && scaling["rope_type"] == "dynamic") {
    fields["max_position_embeddings"] = scaling[kOriginal];  // the base grows from there on
    scaling.erase(kOriginal);
  }
  if (scaling.is_object() && scaling["rope_type"] == "longrope") {
    if (scaling.contains(kOriginal))
      fields[kOriginal] = scaling[kOriginal];  // of the model, as Phi-3 has it
    else
      scaling[kOriginal] = fields["max_position_embeddings"];
  }
  fields["rope_scaling"] = std::move(scaling);
  if (rope.fraction != 1) fields["partial_rotary_factor"] = double{rope.fraction};
}

void write_experts(Json& fields, const LayerParts& parts) {
  const double load_balance = parts.router.losses.load_balance;
  fields["hidden_act"] = activation_name(parts.experts.activation);
  fields["num_experts_per_tok"] = int64_t{parts.router.top_k};
  fields["output_router_logits"] = load_balance > 0;
  fields["router_aux_loss_coef"] = load_balance;
}

Json llama_fields(const PlainModel& model) {
  const Decoder::Config& decoder = model.decoder;
  const LayerParts parts = parts_of(model.layers.front());
  const Attention::Config& attention = parts.attention;
  Json out{{"vocab_size", int64_t{*decoder.vocab_size}},
           {"hidden_size", int64_t{*decoder.model_dim}},
           {"intermediate_size", width_in(parts.feed_forward.hidden_dim)},
           {"num_hidden_layers", model.layers.size()},
           {"num_attention_heads", int64_t{*attention.num_heads}}};
  if (attention.num_kv_heads) out["num_key_value_heads"] = int64_t{*attention.num_kv_heads};
  if (attention.head_dim) out["head_dim"] = int64_t{*attention.head_dim};
  out["hidden_act"] = activation_name(parts.feed_forward.activation);
  if (decoder.max_seq_len) out["max_position_embeddings"] = int64_t{*decoder.max_seq_len};
  out["rms_norm_eps"] = epsilon_of(decoder.output_norm);
  write_rope(out, parts.rope);
  out["attention_dropout"] = 0.0;
  out["tie_word_embeddings"] = !decoder.lm_head;
  return out;
}

}  // namespace axle
