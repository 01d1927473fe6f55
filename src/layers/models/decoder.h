// A decoder-only language model from token ids to logits, without a loss.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   V vocabulary   D model dim
#pragma once

#include "config/fields.h"
#include "layers/blocks/stack.h"
#include "layers/dense/linear.h"
#include "layers/dropout/dropout.h"
#include "layers/models/embedding.h"
#include "layers/positions/position_embedding.h"

namespace axle {

/// ids_BT -> cap(head(output_norm(layers(position_emb(emb(ids)))))).
///
/// Shapes: ids_BT integers -> logits_BTV, dtype of the parameters.
/// Throws ShapeError if T > max_seq_len.
class Decoder final
    : public LayerRole<Decoder, Tensor(const Tensor& ids_BT, const MixerContext& context)> {
 public:
  /// Empty: the config of the decoder holds its sizes.
  struct Dims {
    AXLE_CONFIG(Dims)
  };
  static constexpr InputNames kInputs = {"ids", "context"};
  struct Config {
    /// Width of the residual stream.
    Required<Positive<int64_t>> model_dim = REQUIRED;
    /// Number of token ids.
    Required<Positive<int64_t>> vocab_size = REQUIRED;
    /// Longest sequence; none: the length is not checked.
    std::optional<NumPositions> max_seq_len = {};
    /// Maps token ids to vectors.
    Child<TokenEmbedding> emb = Embedding::Config{};
    /// Adds a vector for its position to each embedded token; none: nothing is added.
    std::optional<Child<PositionEmbedding>> position_emb = {};
    /// Dropout on the embedded tokens; none: no dropout.
    std::optional<Child<Dropout>> dropout = {};
    /// The blocks between embedding and output norm.
    Child<Block> layers = Repeat::Config{};
    /// Norm before the head.
    Child<Norm> output_norm = RMSNorm::Config{};
    /// Projects vectors to logits; none: the head shares the weight of the embedding.
    std::optional<Child<Projection>> lm_head = {};
    /// Logits become logit_cap * tanh(logits / logit_cap), computed in f32; none: they stay.
    std::optional<Positive<double>> logit_cap = {};
    AXLE_CONFIG(Decoder, model_dim, vocab_size, max_seq_len, emb, position_emb, dropout, layers,
                output_norm, lm_head, logit_cap)
  };
  Decoder(const Config& cfg, const Dims&, const Scope& scope);
  bool can_decode() const override { return true; }

  /// Returns x_BTD, the embedded tokens, without positions and dropout.
  Tensor embed(const Tensor& ids_BT);
  /// Returns x_BTD, the input of the head.
  Tensor hidden(const Tensor& ids_BT, const MixerContext& context);
  /// Returns logits_BTV of x_BTD.
  Tensor logits_of(const Tensor& x_BTD);
  /// Returns logits_BV of the last token of each row (MixerContext::last).
  Tensor next_logits(const Tensor& ids_BT, const MixerContext& context);
  std::optional<int64_t> max_seq_len() const { return max_seq_len_; }
  int64_t model_dim() const { return model_dim_; }
  /// True if the head shares the weight of the embedding.
  bool is_tied() const { return !lm_head_; }
  int64_t vocab_size() const { return vocab_size_; }
  /// Returns why the logits must be computed in one call; empty if parts of the positions may have
  /// calls of their own.
  std::string why_whole() const;
  /// The parameters of the head, by path.
  Tree<ParamSpec> head_param_specs() const;

 protected:
  Tensor forward(const Tensor& ids_BT, const MixerContext& context) override;

 private:
  Tensor compute_hidden(const Tensor& ids_BT, const MixerContext& context);
  Tensor head(const Tensor& x);
  const Layer& head_layer() const;

  int64_t model_dim_, vocab_size_;
  std::optional<int64_t> max_seq_len_;
  std::optional<double> logit_cap_;
  Handle<TokenEmbedding> emb_;
  std::optional<Handle<PositionEmbedding>> position_emb_;
  std::optional<Handle<Dropout>> dropout_;
  Handle<Block> layers_;
  Handle<Norm> output_norm_;
  std::optional<Handle<Projection>> lm_head_;
};

extern template class LayerRole<Decoder, Decoder::Signature>;

}  // namespace axle
