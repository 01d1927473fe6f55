#include "interop/forms/plain_model.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "config/document/print.h"
#include "config/walk.h"
#include "interop/forms/layer_places.h"
#include "layers/attention/attention.h"
#include "layers/attention/cores/softmax_attention.h"
#include "layers/attention/head_sizes.h"
#include "layers/attention/latent_attention.h"
#include "layers/attention/qkv/fused_grouped_qkv.h"
#include "layers/attention/qkv/normed_qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/attention/qkv/separate_qkv.h"
#include "layers/blocks/stacked.h"
#include "layers/experts/balanced_router.h"
#include "layers/experts/moe.h"
#include "layers/experts/sorted_dispatch.h"
#include "layers/experts/top_k_router.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/models/causal_lm.h"
#include "layers/positions/learned_positions.h"
#include "layers/state_space/mamba2.h"

namespace axle {
namespace {

// Queries, keys and values with a projection each.
void separate(Child<QKV>& qkv) {
  if (auto* const rope = qkv.get_if<RoPE>()) {
    rope->pairs = PairLayout::kHalves;
    separate(rope->inner);
  } else if (auto* const normed = qkv.get_if<NormedQKV>()) {
    separate(normed->inner);
  } else if (const auto* const fused = qkv.get_if<FusedQKV>()) {
    const HeadInputLinear::Config heads{.bias = fused->bias, .product = fused->product};
    qkv = SeparateQKV::Config{.q_proj = heads, .k_proj = heads, .v_proj = heads};
  } else if (const auto* const grouped = qkv.get_if<FusedGroupedQKV>()) {
    const Child<HeadInput> heads = grouped->proj;
    qkv = SeparateQKV::Config{.q_proj = heads, .k_proj = heads, .v_proj = heads};
  }
}

void write_sizes(Attention::Config& attention, int64_t model_dim) {
  const auto number = [](const auto& size) {
    return size ? std::optional<int64_t>(*size) : std::nullopt;
  };
  const HeadSizes sizes =
      head_sizes(model_dim, attention.num_heads, number(attention.num_kv_heads),
                 number(attention.head_dim), [](auto, auto) {});  // the model was built before
  attention.num_kv_heads = sizes.num_kv_heads;
  attention.head_dim = sizes.head_dim;
  if (auto* const core = attention.core.get_if<SoftmaxAttention>(); core && !core->scale)
    core->scale = 1 / std::sqrt(static_cast<double>(sizes.head_dim));
}

void write_width(DimFn& width, int64_t model_dim) { width = FixedDim{.dim = width(model_dim)}; }

// Resets the options of a slot that holds a layer, and its class if that decides about training,
// numbers of bits, memory or speed alone.
void strip_slot(const Slot& outer) {
  const Slot slot = unwrap(outer);
  if (slot.ops->kind != FieldKind::kChild) return;
  if (&slot.ops->options_type() == &LayerOptions::config_type())
    *static_cast<LayerOptions*>(slot.ops->options(slot.at)) = {};
  const std::type_info& role = *slot.ops->role().type;
  if (role == typeid(Dropout) && outer.ops->kind == FieldKind::kOptional)
    outer.ops->clear(outer.at);
  else if (role == typeid(Product))
    put_config(slot, AnyConfig::of(PlainProduct::Config{}));
  else if (role == typeid(KVCache))
    put_config(slot, AnyConfig::of(DenseKVCache::Config{}));
  else if (role == typeid(Dispatch))
    put_config(slot, AnyConfig::of(SortedDispatch::Config{}));
}

void strip(ConfigRef root) {
  walk(root, [](const std::string&, const Slot& slot) { strip_slot(slot); });
  for_each_config<MoE>(root, [](auto&, auto& experts) { experts.adaptive_load_balance = {}; });
  for_each_config<TopKRouter>(root, [](auto&, auto& router) {
    router.losses = {};
    router.noise = {};
  });
  for_each_config<BalancedRouter>(root, [](auto&, auto& router) {
    router.losses = {};
    router.update_rate = BalancedRouter::Config{}.update_rate;
  });
  for_each_config<Embedding>(root, [](auto&, auto& emb) { emb.init = Embedding::Config{}.init; });
  for_each_config<Mamba2>(root, [](auto&, auto& mixer) {
    mixer.decay_init = Mamba2::Config{}.decay_init;
    mixer.step_bias_init = Mamba2::Config{}.step_bias_init;
  });
  for_each_config<LearnedPositions>(
      root, [](auto&, auto& positions) { positions.init = LearnedPositions::Config{}.init; });
}

// The whole model again, of what counts.
Decoder::Config computed(const PlainModel& model) {
  Decoder::Config out = model.decoder;
  out.max_seq_len = {};
  out.layers = Stacked::Config{
      .num_layers = static_cast<int64_t>(model.layers.size()), .layer = {}, .layers = model.layers};
  strip(out);
  return out;
}

}  // namespace

PlainModel plain_model(const Child<Model>& model) {
  const auto* const lm = model.get_if<CausalLM>();
  const auto* const decoder = lm ? lm->decoder.get_if<Decoder>() : nullptr;
  if (!decoder) {
    throw ConfigError(
        fmt::format("model: expected CausalLM, got {}", model ? model.any().type().name : "none"));
  }
  PlainModel out{.decoder = *decoder, .layers = {}};
  for (LayerPlace& place : layer_places(decoder->layers, "decoder/layers"))
    out.layers.push_back(std::move(place.layer));
  if (out.layers.empty()) throw ConfigError("model.decoder.layers: expected layers, got none");
  out.decoder.layers = {};
  const int64_t model_dim = decoder->model_dim;
  if (auto* const emb = out.decoder.emb.get_if<Embedding>(); emb && emb->scale)
    emb->scale = ConstantScale{.value = (*emb->scale)(model_dim)};
  if (auto& positions = out.decoder.position_emb) {
    if (auto* const learned = positions->get_if<LearnedPositions>();
        learned && !learned->num_positions)
      learned->num_positions = decoder->max_seq_len;
  }
  for (Child<Block>& layer : out.layers) {
    for_each_config<Attention>(layer, [&](auto&, Attention::Config& attention) {
      separate(attention.qkv);
      write_sizes(attention, model_dim);
    });
    for_each_config<LatentAttention>(layer, [](auto&, LatentAttention::Config& attention) {
      auto* const core = attention.core.get_if<SoftmaxAttention>();
      if (core && !core->scale)
        core->scale = 1 / std::sqrt(static_cast<double>(attention.nope_dim + attention.rope_dim));
    });
    for_each_config<FeedForward>(
        layer, [&](auto&, auto& mixer) { write_width(mixer.hidden_dim, model_dim); });
    for_each_config<MoE>(layer,
                         [&](auto&, auto& mixer) { write_width(mixer.hidden_dim, model_dim); });
  }
  return out;
}

std::vector<ModelDifference> differences(const PlainModel& a, const PlainModel& b) {
  std::vector<ModelDifference> out;
  for (const ConfigChange& change : changes(computed(a), computed(b), "model.decoder")) {
    if (change.keeps_results) continue;
    out.push_back({change.path, change.before.value_or("none"), change.after.value_or("none")});
  }
  return out;
}

}  // namespace axle
