#include "interop/forms/plain_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text/text.h"
#include "config/print.h"
#include "config/register.h"
#include "config/walk.h"
#include "interop/hugging_face.h"
#include "io/file.h"
#include "io/gguf/gguf_file.h"
#include "layers/attention/attention.h"
#include "layers/attention/cores/scored_core.h"
#include "layers/attention/latent_attention.h"
#include "layers/attention/qkv/key_values.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/stack.h"
#include "layers/experts/dispatch.h"
#include "layers/experts/linear_routers.h"
#include "layers/experts/moe.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/models/causal_lm.h"
#include "layers/pipeline/pipeline.h"
#include "layers/positions/position_embedding.h"
#include "layers/state_space/mamba.h"
#include "modifiers/products/product_modifiers.h"
#include "modifiers/trial_model.h"

namespace axle {
namespace {

class LayerCollector {
 public:
  void add(const Child<Block>& block, const UnstackedLayer& at) {
    if (const auto* const repeat = block.get_if<Repeat>()) {
      add_loop(repeat->layer, repeat->num_layers, at);
    } else if (const auto* const pipeline = block.get_if<Pipeline>()) {
      add_loop(pipeline->layer, pipeline->num_layers, at);
    } else if (const auto* const stacked = block.get_if<Stacked>()) {
      for (int64_t i = 0; i < stacked->num_layers; ++i) {
        const bool is_own = !stacked->layers.empty();
        add(is_own ? stacked->layers[i] : *stacked->layer, below(at, fmt::format("layer{}", i)));
      }
    } else if (const auto* const pattern = block.get_if<Pattern>()) {
      add_pattern(*pattern, at);
    } else {
      out_.push_back(at);
      out_.back().layer = block;
    }
  }
  std::vector<UnstackedLayer> take() { return std::move(out_); }

 private:
  static UnstackedLayer below(UnstackedLayer at, const std::string& name) {
    at.path += "/" + name;
    return at;
  }
  static UnstackedLayer iteration(UnstackedLayer at, int64_t i, int64_t n) {
    at.index = at.index * n + i;
    at.count *= n;
    return at;
  }
  void add_loop(const Child<Block>& layer, int64_t n, const UnstackedLayer& at) {
    for (int64_t i = 0; i < n; ++i) add(layer, iteration(below(at, "layer"), i, n));
  }
  void add_pattern(const Pattern::Config& pattern, const UnstackedLayer& at) {
    const auto size = std::ssize(pattern.pattern);
    const int64_t num_groups = pattern.num_layers / size;
    for (int64_t i = 0; i < pattern.num_layers; ++i) {
      const int64_t group = i / size;
      const std::string name = fmt::format("layer{}", i % size);
      const UnstackedLayer groups =
          iteration(below(below(at, "groups/layer"), name), group, num_groups);
      add(pattern.pattern[i % size], group < num_groups ? groups : below(at, "rest/" + name));
    }
  }

  std::vector<UnstackedLayer> out_;
};

}  // namespace

std::vector<UnstackedLayer> unstacked_layers(const Child<Block>& stack, const std::string& path) {
  LayerCollector collector;
  collector.add(stack, {.path = path, .layer = {}});
  return collector.take();
}

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
  out.layers =
      Stacked::Config{.num_layers = std::ssize(model.layers), .layer = {}, .layers = model.layers};
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
  for (UnstackedLayer& layer : unstacked_layers(decoder->layers, "decoder/layers"))
    out.layers.push_back(std::move(layer.layer));
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

namespace {

constexpr std::string_view kModel = "model";

// A product whose weight can be kept as codes, by its path below the model.
struct ProductCode {
  bool is_table = false;
  std::optional<CodeScheme> scheme;  // of its weight in the file
};
using ProductCodes = std::map<std::string, ProductCode>;

// The path of a config below its model.
std::string below_model(const std::string& path) {
  return path.starts_with("model.") ? path.substr(kModel.size() + 1) : path;
}

bool is_coded(const ProductSlot& product) {
  return held_config(product.slot)->get_if<QuantizedProduct::Config>() != nullptr;
}

// A product that holds another one can't have codes, but the inner one can.
bool holds_a_product(const std::vector<ProductSlot>& products, const ProductSlot& product) {
  return std::ranges::any_of(products, [&](const ProductSlot& other) {
    return other.is_inner && other.owner == held_config(product.slot);
  });
}

// The model with codes wherever it takes them, in a scheme that fits every weight.
std::unique_ptr<Model> coded_model(Child<Model> config) {
  const ModelTrial trial(&config);
  const std::vector<ProductSlot> products = product_slots(ConfigRef(config));
  for (const ProductSlot& product : products) {
    if (holds_a_product(products, product)) continue;
    trial.refusals(product.slot, [&] {
      put_config(product.slot,
                 AnyConfig::of(QuantizedProduct::Config{.bits = CodeBits::kEight, .group = 1}));
    });
  }
  return config.build({}, Scope{.path = std::string(kModel)});
}

ProductCodes codes_of(const Child<Model>& config, const std::string& from) {
  const std::unique_ptr<Model> model = coded_model(config);
  Tree<CodeScheme> schemes;
  const std::filesystem::path path = path_of_text(from);
  if (!from.empty() && !path_exists(path)) {
    throw ConfigError(
        fmt::format("KeepAsCodes.from: expected a path as --init-from takes it, got {}: {}", from,
                    nothing_at(path)));
  }
  if (!from.empty() && is_gguf(path))
    schemes = read_gguf(path, {.with_weights = false, .codes_of = model.get()}).schemes;
  ProductCodes out;
  for (const QuantizedProduct* product : quantized_products(*model)) {
    ProductCode& product_code = out[below_model(product->config_path())];
    product_code.is_table = product->is_table();
    const auto own = schemes.find(product->weight_path());
    if (own == schemes.end()) continue;
    product_code.scheme =
        product_code.scheme ? joined(*product_code.scheme, own->second) : own->second;
  }
  return out;
}

}  // namespace

std::vector<Rewrite> KeepAsCodes::apply(ConfigRef root) const {
  Rewrite out{.what = "weights as codes", .report = {}};
  RewriteReport& report = out.report;
  const Child<Model>* const model = find_model(root);
  if (!model || !*model) throw NoMatch("KeepAsCodes: expected a model, got a tree without one");
  const ProductCodes codes = codes_of(*model, cfg_.from);
  const ModelTrial trial(model);
  const std::vector<ProductSlot> products = product_slots(root);
  for (const ProductSlot& product : products) {
    if (holds_a_product(products, product)) continue;
    const auto code = codes.find(below_model(product.path));
    const bool is_known = code != codes.end();
    if (is_coded(product)) {
      report.unchanged.push_back(product.path);
    } else if (is_known && code->second.is_table && !code->second.scheme) {
      report.skipped.push_back({product.path, "a table that is not stored as codes"});
    } else {
      const AnyConfig wanted =
          is_known && code->second.scheme
              ? AnyConfig::of(QuantizedProduct::config_of(*code->second.scheme))
              : cfg_.with.any();
      const std::vector<std::string> refusals =
          trial.refusals(product.slot, [&] { put_config(product.slot, wanted); });
      if (refusals.empty())
        report.matched.push_back(product.path);
      else
        report.skipped.push_back({product.path, join(refusals, "; ")});
    }
  }
  return {std::move(out)};
}

AXLE_REGISTER(KeepAsCodes)

}  // namespace axle
