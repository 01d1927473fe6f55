// The losses of language models around a decoder.
#pragma once

#include <optional>

#include "layers/models/decoder.h"
#include "layers/models/loss_sums.h"
#include "layers/models/model.h"

namespace axle {

/// Returns the chunks in which the losses of the rows ids_BT are computed; none: all at once.
/// `chunk_len`: positions of a row in a chunk, the field loss_chunk_len of `model`; none: see
/// fitting_loss_chunks.
std::optional<LossChunks> chunks_of_losses(const Model& model, const Decoder& decoder,
                                           const Shape& bt, std::optional<int64_t> chunk_len);

/// Returns the sums of the losses of the decoder's head at x_BTD, the result of Decoder::hidden.
LossSums head_loss_sums(Decoder& decoder, const Tensor& x_BTD, const Tensor& labels_BT,
                        const std::optional<LossChunks>& chunks,
                        const TokenLoss* further = nullptr);

/// Returns the cross entropy of each label, f32[B, T], with the logits of a chunk in memory at once
/// where chunks_of_losses says so. The loss of a negative label has no meaning.
Tensor cross_entropy_of_labels(const Model& model, Decoder& decoder, const Tensor& ids_BT,
                               const MixerContext& context, const Tensor& labels_BT,
                               std::optional<int64_t> chunk_len);

/// Returns the number of labels that count, in the dtype of the sums.
Tensor num_targets_of(const Tensor& labels_BT, const LossSums& sums);

/// Returns the means over the targets: the loss cross_entropy + z_loss_scale * squared_log_z, and
/// the metrics "cross_entropy", "accuracy" and "num_targets", "z_loss" if its scale is not 0. A
/// further loss is part of the loss, with its weights, and a metric.
ModelOutput mean_losses(const LossSums& sums, const Tensor& num_targets, double z_loss_scale,
                        const TokenLoss* further = nullptr);

/// Adds a loss to the objective and reports it.
void add_loss(ModelOutput& out, std::string_view name, const Tensor& loss);

/// Takes all auxiliary losses of the invocation into the loss. If there are any, reports their sum
/// as "aux_loss" and the sums of equal names, over the layers, as "aux_loss/<name>".
void take_aux_losses(ModelOutput& out);

}  // namespace axle
