#include "layers/decoder.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "layers/mesh_axes.h"
#include "ops/index.h"
#include "ops/shape.h"
#include "ops/slice.h"

namespace axle {

Decoder::Decoder(const Config& cfg, const Dims&, const Scope& scope)
    : LayerRole(scope),
      vocab_size_(cfg.vocab_size),
      max_seq_len_(cfg.max_seq_len),
      emb_(child("emb", cfg.emb, {.vocab_size = cfg.vocab_size, .model_dim = cfg.model_dim})),
      dropout_(child("dropout", cfg.dropout, {})),
      layers_(child("layers", cfg.layers, {.model_dim = cfg.model_dim})),
      output_norm_(child("output_norm", cfg.output_norm, {.input_dim = cfg.model_dim})),
      lm_head_(child(
          "lm_head", cfg.lm_head,
          {.input_dim = cfg.model_dim, .output_dim = cfg.vocab_size, .input_axes = kShardAxes})) {}

Tensor Decoder::hidden(const Tensor& ids_BT, const MixerContext& context) {
  if (ids_BT.rank() != 2) {
    throw ShapeError(
        fmt::format("{}: expected ids [B, T], got {}", config_path(), to_text(ids_BT.type())));
  }
  if (max_seq_len_ && ids_BT.dim(1) > *max_seq_len_) {
    throw ShapeError(fmt::format("{}: at most max_seq_len = {} positions, got {}", config_path(),
                                 *max_seq_len_, ids_BT.dim(1)));
  }
  Tensor x_BTD = emb_(ids_BT);
  if (dropout_) x_BTD = (*dropout_)(x_BTD);
  x_BTD = layers_(x_BTD, context);
  return constrain(output_norm_(x_BTD), kTokenAxes);
}

Tensor Decoder::head(const Tensor& x) { return lm_head_ ? (*lm_head_)(x) : emb_->attend(x); }

Tensor Decoder::forward(const Tensor& ids_BT, const MixerContext& context) {
  const Tensor x_BTD = hidden(ids_BT, context);
  return constrain(head(x_BTD), kTokenPartsAxes);
}

Tensor Decoder::next_logits(const Tensor& ids_BT, const MixerContext& context,
                            const std::optional<Tensor>& last_B) {
  const Invocation::Frame frame(*this);
  const Tensor x_BTD = hidden(ids_BT, context);
  const int64_t batch = x_BTD.dim(0), width = x_BTD.dim(2);
  if (!last_B) return head(index_in_dim(x_BTD, 1, -1));
  const Tensor last_BD = gather(x_BTD, *last_B,
                                {.offset = {1},
                                 .collapsed = {1},
                                 .operand_batch = {0},
                                 .indices_batch = {0},
                                 .index_map = {1},
                                 .index_vector_dim = 1},
                                {1, 1, width});
  return head(reshape(last_BD, {batch, width}));
}

AXLE_REGISTER(Decoder::Dims)
AXLE_REGISTER(Decoder)

}  // namespace axle
