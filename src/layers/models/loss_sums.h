// Sums of the losses of all tokens, with or without the logits of all tokens in memory at once.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   t positions of a chunk   V vocabulary   D model dim
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ir/devices/mesh.h"
#include "ir/tensor.h"

namespace axle {

/// The positions of each row in chunks of equal length. Where devices share a row, a chunk holds
/// positions of each share, so that all devices work on each chunk.
struct LossChunks {
  int64_t num_chunks = 1;
  /// Rows that are laid end to end and count as one.
  int64_t rows_joined = 1;
  /// Shares of a row, and positions of a chunk in each of them.
  int64_t num_shares = 1, len_of_share = 0;
  /// Logits of a chunk on each device.
  int64_t num_logits = 0;
  /// The field of the config that asks for them; empty: they are the ones that fit.
  std::string asked_by = {};
};

/// A device holds at most this many logits of a chunk, if a position has no more. In f32 they take
/// 256 MiB, and the loss with its gradient up to two and a half times as much.
constexpr int64_t kMaxLogitsOfChunk = int64_t{1} << 26;

/// Returns how many of the logits [B, T, V] each device of `mesh` has.
int64_t logits_of_device(const Shape& btv, const Mesh& mesh);

/// Divides rows so that the logits [B, T, V] of a chunk fit kMaxLogitsOfChunk on each device of
/// `mesh`. Returns nothing if the logits of all positions fit.
std::optional<LossChunks> fitting_loss_chunks(const Shape& btv, const Mesh& mesh);

/// Divides rows into chunks of at most `chunk_len` positions, as the field `asked_by` says.
LossChunks loss_chunks_of_len(int64_t chunk_len, const Shape& btv, const Mesh& mesh,
                              std::string asked_by);

/// Sums over the tokens with a label >= 0; f32 scalars.
struct LossSums {
  Tensor cross_entropy;
  Tensor squared_log_z;  // of log(sum(exp(logits)))^2
  /// Labels that have the largest logit. If n logits are equally large, a label that is one of them
  /// counts 1 / n.
  Tensor hits;
  Tensor further = {};  // of a TokenLoss; none without one

  template <class F>
  void each_field(F&& fn) {
    fn("cross_entropy", cross_entropy);
    fn("squared_log_z", squared_log_z);
    fn("hits", hits);
    fn("further", further);
  }
};

/// A loss of each token beside its cross entropy, such as the divergence from a teacher.
struct TokenLoss {
  /// The name of its metric.
  std::string name;
  /// Weights of this loss and of the cross entropy in the objective.
  double weight = 1, cross_entropy_weight = 1;
  /// Tensors [B, T, ..] that it reads besides the logits.
  Values inputs = {};
  /// Maps logits_BtV of some positions, and the inputs at these positions, to losses f32[B, t].
  std::function<Tensor(const Tensor& logits_BtV, const Values& inputs)> losses;
};

/// logits_BTV and labels_BT; `further` may be null.
LossSums loss_sums(const Tensor& logits_BTV, const Tensor& labels_BT,
                   const TokenLoss* further = nullptr);

/// Maps x_BtD of the positions of a chunk, whose segment ids are i32[B, t] or none, to the logits,
/// followed by values to keep of each chunk.
using ChunkHead = std::function<Values(const Tensor& x_BtD, const std::optional<Tensor>& ids_Bt)>;

struct ChunkedLossSums {
  LossSums sums;
  Values kept;  // of each chunk, along a leading dim
};

/// The sums of the logits of all positions, computed chunk by chunk. The backward pass computes the
/// logits of a chunk again, so that only one chunk's are in memory at once. Positions after the
/// end of a row have the segment id 0.
ChunkedLossSums chunked_loss_sums(const ChunkHead& head, const Tensor& x_BTD,
                                  const std::optional<Tensor>& segment_ids_BT,
                                  const Tensor& labels_BT, const LossChunks& chunks,
                                  const TokenLoss* further = nullptr);

struct ChunkedCrossEntropy {
  Tensor losses_BT;
  Values kept;  // of each chunk, along a leading dim
};

/// The cross entropy of each label, computed chunk by chunk in the same way.
ChunkedCrossEntropy chunked_cross_entropy(const ChunkHead& head, const Tensor& x_BTD,
                                          const std::optional<Tensor>& segment_ids_BT,
                                          const Tensor& labels_BT, const LossChunks& chunks);

}  // namespace axle
