#include "layers/attention/attention.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "layers/mesh_axes.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/movement/movement.h"

namespace axle {
namespace {

// Throws ShapeError unless positions and segment ids are i32[B, T] and prefix lengths i32[B] or
// i32[B, T]. Some other types and shapes would be broadcast without an error.
void check_context(const std::string& where, const Tensor& x_BTD, const MixerContext& context) {
  if (x_BTD.rank() != 3) return;  // the projection reports this error
  const auto check = [&](std::string_view name, const std::optional<Tensor>& given, Shape shape) {
    const Type expected{DType::kI32, std::move(shape)};
    if (given && given->type() != expected) {
      throw ShapeError(fmt::format("{}{}{}: expected {}, got {}", where, where.empty() ? "" : ": ",
                                   name, to_text(expected), to_text(given->type())));
    }
  };
  check("positions", context.positions, {x_BTD.dim(0), x_BTD.dim(1)});
  check("segment_ids", context.segment_ids, {x_BTD.dim(0), x_BTD.dim(1)});
  const bool by_token = context.prefix_lengths && context.prefix_lengths->rank() == 2;
  check("prefix_lengths", context.prefix_lengths,
        by_token ? Shape{x_BTD.dim(0), x_BTD.dim(1)} : Shape{x_BTD.dim(0)});
}

// Names queries, keys or values for remat policies: "qkv", the name of all three, and own_name.
Tensor named(const Tensor& x_BTNH, std::string_view own_name) {
  return name(name(sharding_constraint(x_BTNH, kTokenPartsAxes), "qkv"), own_name);
}

// Keys and values may be empty tensors.
Tensor named_whole(const Tensor& x_BSKH, std::string_view own_name) {
  return x_BSKH ? sharding_constraint(named(x_BSKH, own_name), kWholeSequenceAxes) : x_BSKH;
}

}  // namespace

Attention::Attention(const Config& cfg, const Dims& dims, const Scope& scope)
    : Mixer(scope),
      sizes_(head_sizes(dims.model_dim, cfg.num_heads, cfg.num_kv_heads, cfg.head_dim,
                        [this](auto field, auto what) { note(field, what); })),
      mask_(child("mask", cfg.mask, {})),
      qkv_(child("qkv", cfg.qkv,
                 {.model_dim = dims.model_dim,
                  .num_heads = sizes_.num_heads,
                  .num_kv_heads = sizes_.num_kv_heads,
                  .head_dim = sizes_.head_dim})),
      output_(child("output", cfg.output,
                    {.model_dim = dims.model_dim,
                     .num_heads = sizes_.num_heads,
                     .head_dim = sizes_.head_dim})),
      query_norm_(child("query_norm", cfg.query_norm, {.input_dim = sizes_.head_dim})),
      key_norm_(child("key_norm", cfg.key_norm, {.input_dim = sizes_.head_dim})),
      bias_(child("bias", cfg.bias, {.num_heads = sizes_.num_heads})),
      core_(child("core", cfg.core, {.num_heads = sizes_.num_heads, .head_dim = sizes_.head_dim})) {
  if (qkv_->has_source()) return;
  kv_cache_ = child("kv_cache", cfg.kv_cache,
                    {.num_kv_heads = sizes_.num_kv_heads, .head_dim = sizes_.head_dim});
  (*kv_cache_)->check_mask(pointer_to(mask_));
  if (!qkv_->makes_keys() && (*kv_cache_)->needs_keys()) {
    note("kv_cache", fmt::format("expected a cache that has the keys of another layer "
                                 "(BorrowedKVCache), since {} makes none, got {}",
                                 cfg.qkv.any().type().name, cfg.kv_cache.any().type().name));
  }
}

Tensor Attention::forward(const Tensor& x_BTD, const MixerContext& context) {
  check_context(config_path(), x_BTD, context);
  const MixerContext placed = decoding() ? with_positions(x_BTD, context) : context;
  const bool goes_on = decoding() && context.positions;
  QKVTensors heads = qkv_(x_BTD, placed.positions);
  if (query_norm_) heads.q_BTNH = (*query_norm_)(heads.q_BTNH);
  if (key_norm_ && heads.k_BSKH) heads.k_BSKH = (*key_norm_)(heads.k_BSKH);
  const Tensor q_BTNH = named(heads.q_BTNH, "q_proj");
  KeyValues keys{.k_BSKH = named_whole(heads.k_BSKH, "k_proj"),
                 .v_BSKH = named_whole(heads.v_BSKH, "v_proj")};
  if (qkv_->has_source()) {
    keys.segments_BS = heads.source_segments_BS;
  } else {
    keys = append_and_look(*kv_cache_, keys, placed, goes_on, pointer_to(mask_));
  }
  Visibility visibility = Visibility::of(x_BTD.dim(1), keys, placed, goes_on);
  visibility.mask = pointer_to(mask_);
  visibility.bias = bias_ ? &*bias_ : nullptr;
  visibility.has_empty_places = decoding() && !qkv_->has_source();
  const Tensor context_BTNH = constrain(core_(q_BTNH, keys, visibility), kTokenPartsAxes);
  return name(output_(name(context_BTNH, "attention_context")), "attention_output");
}

AXLE_REGISTER(Attention)

}  // namespace axle
